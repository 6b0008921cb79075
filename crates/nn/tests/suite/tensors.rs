//! Files of tensors: what goes in comes out, and damage is an error.

use proptest::prelude::*;
use rlxp_nn::{
    Activation, ActorCritic, Data, Head, Input, Shape, Tensor, TensorProblem, Tensors, TensorsError,
};
use rlxp_types::Stream;

fn network() -> ActorCritic {
    ActorCritic::new(Shape {
        input: Input::Dense(3),
        hidden: vec![5, 4],
        activation: Activation::Tanh,
        shared: false,
        head: Head::Gaussian { size: 2 },
    })
}

fn parameters(network: &ActorCritic, seed: u64) -> Vec<f32> {
    let mut parameters = vec![0.0; network.parameter_count()];
    network.init(&mut parameters, -0.5, &mut Stream::new(seed, "init", 0));
    parameters
}

fn every_kind() -> Tensors {
    let mut tensors = Tensors::new();
    tensors.insert("b", Tensor::new(vec![2, 1], Data::F32(vec![1.5, f32::MIN_POSITIVE])));
    tensors.insert_f64s("a", vec![std::f64::consts::PI]);
    tensors.insert_u64s("steps", vec![u64::MAX, 0]);
    tensors.insert_u8s("bytes", vec![1, 2, 3]);
    tensors.insert_f32s("none", vec![]);
    tensors
}

#[test]
fn what_goes_in_comes_out() {
    let tensors = every_kind();
    let bytes = tensors.to_bytes();
    assert_eq!(Tensors::from_bytes(&bytes).expect("just written"), tensors);
    assert_eq!(every_kind().to_bytes(), bytes, "equal content gives equal bytes");
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("__metadata__"));
    assert_eq!(tensors.u64s("steps").expect("there"), [u64::MAX, 0]);
    assert_eq!(
        tensors.f32s("steps").expect_err("another type").to_string(),
        "tensor \"steps\" holds U64, wanted F32"
    );
    assert_eq!(tensors.f32s("x").expect_err("nothing there").to_string(), "there is no tensor \"x\"");
}

#[test]
fn a_network_goes_through_a_file() {
    let network = network();
    let saved = parameters(&network, 1);
    let bytes = network.tensors(&saved).to_bytes();
    let mut loaded = vec![0.0; saved.len()];
    network.load(&Tensors::from_bytes(&bytes).expect("readable"), &mut loaded).expect("same network");
    assert_eq!(loaded, saved);
    let tensors = network.tensors(&saved);
    let shapes: Vec<(&str, &[usize])> =
        tensors.iter().map(|(name, tensor)| (name, tensor.shape.as_slice())).collect();
    let wanted: [(&str, &[usize]); 13] = [
        ("log_std", &[2]),
        ("policy.0.bias", &[5]),
        ("policy.0.weight", &[3, 5]),
        ("policy.1.bias", &[4]),
        ("policy.1.weight", &[5, 4]),
        ("policy.out.bias", &[2]),
        ("policy.out.weight", &[2, 4]),
        ("value.0.bias", &[5]),
        ("value.0.weight", &[3, 5]),
        ("value.1.bias", &[4]),
        ("value.1.weight", &[5, 4]),
        ("value.out.bias", &[1]),
        ("value.out.weight", &[1, 4]),
    ];
    assert_eq!(shapes, wanted);
}

#[test]
fn every_difference_is_reported_and_nothing_is_changed() {
    let network = network();
    let mut tensors = network.tensors(&parameters(&network, 1));
    tensors.insert("policy.0.weight", Tensor::new(vec![5, 3], Data::F32(vec![0.0; 15])));
    tensors.insert("value.0.bias", Tensor::new(vec![5], Data::F32(vec![0.0, 0.0, f32::NAN, 0.0, 0.0])));
    tensors.insert("value.1.bias", Tensor::new(vec![4], Data::F64(vec![0.0; 4])));
    tensors.insert("trunk.0.bias", Tensor::new(vec![1], Data::F32(vec![0.0])));
    let before = parameters(&network, 2);
    let mut after = before.clone();
    let error = network.load(&tensors, &mut after).expect_err("four differences");
    assert_eq!(before, after);
    assert_eq!(error.problems.len(), 4);
    assert_eq!(
        error.problems[0],
        TensorProblem::Shape { name: "policy.0.weight".into(), wanted: vec![3, 5], found: vec![5, 3] }
    );
    let message = error.to_string();
    for part in [
        "policy.0.weight has shape [5, 3], the network wants [3, 5]",
        "value.0.bias holds NaN at position 2",
        "value.1.bias holds F64, the network wants F32",
        "trunk.0.bias with shape [1] has no place in the network",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let empty = network.load(&Tensors::new(), &mut after).expect_err("nothing there");
    assert_eq!(empty.problems.len(), 13);
}

#[test]
fn a_header_that_claims_too_much_is_refused_before_it_is_read() {
    let mut bytes = vec![0_u8; 64];
    bytes[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(Tensors::from_bytes(&bytes), Err(TensorsError::HeaderTooLong { claimed: u64::MAX })));
    bytes[..8].copy_from_slice(&((1_u64 << 20) + 1).to_le_bytes());
    assert!(matches!(Tensors::from_bytes(&bytes), Err(TensorsError::HeaderTooLong { .. })));
}

/// A file with that header and data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[test]
fn lies_in_the_header_are_errors() {
    let good = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    assert!(Tensors::from_bytes(&file(good, &[0; 8])).is_ok());
    for (header, data) in [
        (good, 7),
        (good, 9),
        (r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}"#, 8),
        (r#"{"a":{"dtype":"I16","shape":[4],"data_offsets":[0,8]}}"#, 8),
        (r#"{"a":{"dtype":"F32","shape":[18446744073709551615,4],"data_offsets":[0,8]}}"#, 8),
        (
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#,
            12,
        ),
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#, 8),
        (r#"{"a":"#, 0),
        ("", 0),
    ] {
        assert!(Tensors::from_bytes(&file(header, &vec![0; data])).is_err(), "{header} with {data} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_file_is_an_error(cut in 0.0..1.0_f64) {
        let bytes = every_kind().to_bytes();
        let length = (bytes.len() as f64 * cut) as usize;
        prop_assert!(Tensors::from_bytes(&bytes[..length]).is_err());
    }

    #[test]
    fn flipped_bytes_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..6)) {
        let tensors = every_kind();
        let mut bytes = tensors.to_bytes();
        for (at, change) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= change;
        }
        // Damage to the numbers alone can't be seen here; the shape of what is
        // read is never larger than the file.
        if let Ok(read) = Tensors::from_bytes(&bytes) {
            let elements: usize = read.iter().map(|(_, tensor)| tensor.data.len()).sum();
            prop_assert!(elements <= bytes.len());
        }
    }
}
