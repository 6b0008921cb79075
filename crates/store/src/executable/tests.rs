//! Files that Python wrote, files that no program writes, and texts that are not pickles.

#![expect(clippy::disallowed_methods, reason = "a test makes the files that are looked at")]

use miniz_oxide::deflate::compress_to_vec;
use proptest::prelude::*;
use rlxp_fs::RealFs;

use super::*;

/// What Python 3.11 wrote with `pickle`, `zipfile`, `gzip` and `zlib`, and headers as NumPy and safetensors write them,
/// in hexadecimal digits; whether loading it could run code.
const WRITTEN: &[(&str, &str, bool)] = &[
    (
        "reduce in protocol 0",
        "635f5f6275696c74696e5f5f0a7072696e740a70300a285668690a70310a7470320a5270330a2e",
        true,
    ),
    (
        "object in protocol 0",
        "63636f6c6c656374696f6e730a4f726465726564446963740a70300a28745270310a56610a70320a49310a732e",
        true,
    ),
    ("global in protocol 0", "635f5f6275696c74696e5f5f0a7072696e740a70300a2e", true),
    (
        "plain values in protocol 0",
        "286470300a566c720a70310a286c70320a46302e350a6149310a6156780a70330a61284930310a4e4c313030303030303030303030303030303030303030303030303030303030304c0a7470340a617356750a70350a56e95c75303030610a70360a732e",
        false,
    ),
    (
        "reduce in protocol 1",
        "635f5f6275696c74696e5f5f0a7072696e740a7100285802000000686971017471025271032e",
        true,
    ),
    (
        "object in protocol 1",
        "63636f6c6c656374696f6e730a4f726465726564446963740a71002952710158010000006171024b01732e",
        true,
    ),
    ("global in protocol 1", "635f5f6275696c74696e5f5f0a7072696e740a71002e", true),
    (
        "plain values in protocol 1",
        "7d71002858020000006c7271015d710228473fe00000000000004b015801000000787103284930310a4e4c313030303030303030303030303030303030303030303030303030303030304c0a7471046558010000007571055803000000c3a90a7106752e",
        false,
    ),
    (
        "reduce in protocol 2",
        "8002635f5f6275696c74696e5f5f0a7072696e740a71005802000000686971018571025271032e",
        true,
    ),
    (
        "object in protocol 2",
        "800263636f6c6c656374696f6e730a4f726465726564446963740a71002952710158010000006171024b01732e",
        true,
    ),
    ("global in protocol 2", "8002635f5f6275696c74696e5f5f0a7072696e740a71002e", true),
    (
        "plain values in protocol 2",
        "80027d71002858020000006c7271015d710228473fe00000000000004b015801000000787103884e8a0d00000040eaed7446d09c2c9f0c8771046558010000007571055803000000c3a90a7106752e",
        false,
    ),
    (
        "reduce in protocol 3",
        "8003636275696c74696e730a7072696e740a71005802000000686971018571025271032e",
        true,
    ),
    (
        "object in protocol 3",
        "800363636f6c6c656374696f6e730a4f726465726564446963740a71002952710158010000006171024b01732e",
        true,
    ),
    ("global in protocol 3", "8003636275696c74696e730a7072696e740a71002e", true),
    (
        "plain values in protocol 3",
        "80037d71002858020000006c7271015d710228473fe00000000000004b015801000000787103884e8a0d00000040eaed7446d09c2c9f0c8771046558010000007571055803000000c3a90a7106752e",
        false,
    ),
    (
        "reduce in protocol 4",
        "8004951f000000000000008c086275696c74696e73948c057072696e749493948c02686994859452942e",
        true,
    ),
    (
        "object in protocol 4",
        "80049529000000000000008c0b636f6c6c656374696f6e73948c0b4f726465726564446963749493942952948c0161944b01732e",
        true,
    ),
    ("global in protocol 4", "80049516000000000000008c086275696c74696e73948c057072696e749493942e", true),
    (
        "plain values in protocol 4",
        "80049547000000000000007d94288c026c72945d9428473fe00000000000004b018c01789428884e430179948a0d00000040eaed7446d09c2c9f0c8f94284b014b02907494658c0175948c03c3a90a94752e",
        false,
    ),
    (
        "reduce in protocol 5",
        "8005951f000000000000008c086275696c74696e73948c057072696e749493948c02686994859452942e",
        true,
    ),
    (
        "object in protocol 5",
        "80059529000000000000008c0b636f6c6c656374696f6e73948c0b4f726465726564446963749493942952948c0161944b01732e",
        true,
    ),
    ("global in protocol 5", "80059516000000000000008c086275696c74696e73948c057072696e749493942e", true),
    (
        "plain values in protocol 5",
        "80059547000000000000007d94288c026c72945d9428473fe00000000000004b018c01789428884e430179948a0d00000040eaed7446d09c2c9f0c8f94284b014b02907494658c0175948c03c3a90a94752e",
        false,
    ),
    (
        "an archive as torch.save writes it",
        "504b030414000000000000002150708200482d0000002d00000010000000617263686976652f646174612e706b6c800263636f6c6c656374696f6e730a4f726465726564446963740a71002952710158010000006171024b01732e504b030414000000000000002150d19e675502000000020000000f000000617263686976652f76657273696f6e330a504b030414000000000000002150554bbbec10000000100000000e000000617263686976652f646174612f3000000000000000000000000000000000504b0102140314000000000000002150708200482d0000002d000000100000000000000000000000800100000000617263686976652f646174612e706b6c504b0102140314000000000000002150d19e675502000000020000000f000000000000000000000080015b000000617263686976652f76657273696f6e504b0102140314000000000000002150554bbbec10000000100000000e000000000000000000000080018a000000617263686976652f646174612f30504b05060000000003000300b7000000c60000000000",
        true,
    ),
    (
        "a compressed archive",
        "504b0304140000000800b020725da42221c20a0000006400000005000000612e7478742b49ad285128a12d0100504b0304140000000800b020725d346634ca280000002a0000000a000000706f6c6963792e706b6c6b60992acf00013d1c49a59939259979c5537a580b8a32f34aa64c9ed2c3949139a5754ad0143d00504b01021403140000000800b020725da42221c20a00000064000000050000000000000000000000800100000000612e747874504b01021403140000000800b020725d346634ca280000002a0000000a000000000000000000000080012d000000706f6c6963792e706b6c504b050600000000020002006b0000007d0000000000",
        true,
    ),
    (
        "an array of numbers",
        "934e554d505901006d007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028312c292c207d2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a00000000",
        false,
    ),
    (
        "an array of objects",
        "934e554d505901006d007b276465736372273a20277c4f272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028312c292c207d202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a80027d71002858020000006c7271015d710228473fe00000000000004b015801000000787103884e8a0d00000040eaed7446d09c2c9f0c8771046558010000007571055803000000c3a90a7106752e",
        true,
    ),
    (
        "an array of records with objects",
        "934e554d505901006d007b276465736372273a205b282761272c20273c663427292c20282762272c20274f27295d2c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028312c292c207d2020202020202020202020202020202020202020202020202020202020200a80027d71002858020000006c7271015d710228473fe00000000000004b015801000000787103884e8a0d00000040eaed7446d09c2c9f0c8771046558010000007571055803000000c3a90a7106752e",
        true,
    ),
    (
        "an archive of arrays",
        "504b030414000000000000002150fd33370e7b0000007b00000005000000612e6e7079934e554d505901006d007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028312c292c207d2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a00000000504b030414000000000000002150fd33370e7b0000007b00000005000000622e6e7079934e554d505901006d007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028312c292c207d2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a00000000504b0102140314000000000000002150fd33370e7b0000007b000000050000000000000000000000800100000000612e6e7079504b0102140314000000000000002150fd33370e7b0000007b00000005000000000000000000000080019e000000622e6e7079504b05060000000002000200660000003c0100000000",
        false,
    ),
    (
        "a compressed archive of arrays",
        "504b0304140000000800b020725dfd33370e470000007b00000005000000612e6e70799bec17ea1b10c9c890cb50ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a863a9a3a0ab50aa4032e06200000504b0304140000000800b020725dfd33370e470000007b00000005000000622e6e70799bec17ea1b10c9c890cb50ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a863a9a3a0ab50aa4032e06200000504b01021403140000000800b020725dfd33370e470000007b000000050000000000000000000000800100000000612e6e7079504b01021403140000000800b020725dfd33370e470000007b00000005000000000000000000000080016a000000622e6e7079504b0506000000000200020066000000d40000000000",
        false,
    ),
    (
        "an archive of arrays of objects",
        "504b0304140000000800b020725dfd33370e470000007b00000005000000612e6e70799bec17ea1b10c9c890cb50ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a863a9a3a0ab50aa4032e06200000504b0304140000000800b020725dfcb1eb2289000000c600000005000000622e6e70799bec17ea1b10c9c890cb50ad9e925a9c5ca46ea5a05ee3afaea3a09e965f54529498179f5f94920a12764bcc294e058a17672416a402f91a863a9a3a0ab50a6400ae06a6da42068d08260606869ca242c6d842260d77fb070c60e0cd18c108a42a0a993bfcba78812c87576f4bdc2eccd199cfd35ec8920a962c2d648d6006d287577215b295ea0100504b01021403140000000800b020725dfd33370e470000007b000000050000000000000000000000800100000000612e6e7079504b01021403140000000800b020725dfcb1eb2289000000c600000005000000000000000000000080016a000000622e6e7079504b0506000000000200020066000000160100000000",
        true,
    ),
    (
        "a compressed pickle",
        "1f8b08000000000002036b60992acf00013d1c49a59939259979c5537a580b8a32f34aa64c9ed2c3949139a5754ad0143d00346634ca2a000000",
        true,
    ),
    (
        "a compressed pickle of plain values",
        "1f8b08000000000002036b6099eace0001b553347a98728aa6c44ed170b77f0011f366ec61ac98a2d1e1e7cc5839a58b1728e2f0ea6d89db85393af379faa76878337a334d289992dac3583aa587f9f04aae29a57a00f492768052000000",
        false,
    ),
    (
        "a pickle as joblib compresses it",
        "789c6b60992acf00013d1c49a59939259979c5537a580b8a32f34aa64c9ed2c3949139a5754ad0143d00ffed0e64",
        true,
    ),
    (
        "a file of safetensors",
        "3d000000000000007b2277223a207b226474797065223a2022463332222c20227368617065223a205b315d2c2022646174615f6f666673657473223a205b302c20345d7d7d00000000",
        false,
    ),
];

fn bytes_of(digits: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_bytes().chunks(2).map(pair).collect()
}

fn why(bytes: &[u8], mut budget: Budget) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    std::fs::write(&path, bytes).unwrap();
    why_executable(&RealFs, &path, &mut budget).unwrap()
}

#[track_caller]
fn check(what: &str, bytes: &[u8], runs: bool) {
    let said = why(bytes, Budget::default());
    assert_eq!(said.is_some(), runs, "{what}: {said:?}");
}

/// One of the files above.
fn written(name: &str) -> Vec<u8> {
    bytes_of(WRITTEN.iter().find(|(known, ..)| *known == name).unwrap().1)
}

/// A zip file with members that are compressed or not, as their name says.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut list) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let is_packed = name.contains("packed");
        let data = if is_packed { compress_to_vec(content, 6) } else { content.to_vec() };
        let offset = u32::try_from(file.len()).unwrap();
        let facts = |target: &mut Vec<u8>| {
            for number in [0_u16, 0, u16::from(is_packed) * 8, 0, 0] {
                target.extend(number.to_le_bytes());
            }
            for number in [0, data.len(), content.len()] {
                target.extend(u32::try_from(number).unwrap().to_le_bytes());
            }
            target.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            target.extend([0, 0]);
        };
        list.extend(b"PK\x01\x02\0\0");
        facts(&mut list);
        list.extend([0; 10]);
        list.extend(offset.to_le_bytes());
        list.extend(name.as_bytes());
        file.extend(b"PK\x03\x04");
        facts(&mut file);
        file.extend(name.as_bytes());
        file.extend(data);
    }
    let start = u32::try_from(file.len()).unwrap();
    let length = u32::try_from(list.len()).unwrap();
    file.extend(list);
    file.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0");
    file.extend(length.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

#[test]
fn what_python_writes_is_told_apart() {
    for (what, digits, runs) in WRITTEN {
        check(what, &bytes_of(digits), *runs);
        // Wherever it lies.
        check(what, &zip(&[("notes.txt", b"text\n"), ("a", &bytes_of(digits))]), *runs);
        check(what, &zip(&[("notes.txt", b"text\n"), ("packed", &bytes_of(digits))]), *runs);
    }
}

#[test]
fn the_answer_names_the_member_and_what_is_used() {
    let said = why(&written("an archive as torch.save writes it"), Budget::default()).unwrap();
    assert_eq!(
        said,
        "has a member archive/data.pkl that contains a pickle that uses collections.OrderedDict"
    );
    let said = why(&written("object in protocol 4"), Budget::default()).unwrap();
    assert_eq!(said, "contains a pickle that uses collections.OrderedDict");
    let said = why(&written("an array of objects"), Budget::default()).unwrap();
    assert_eq!(said, "is an array of objects, which is a pickle");
}

#[test]
fn texts_are_no_pickles() {
    for text in [
        "config\nvalue\n",
        "csv_header,b\n1,2\n",
        "cos\nsystem\n",
        "iteration\nreturn\n1\n",
        "import os\nprint(1)\n",
        "seed,return\n1,250.5\n",
        "{\"return\": 1.5}\n",
        "[1, 2]\n",
        "I am a text.\nAnd so on.\n",
        "(a list)\n",
        "N",
        "",
        "x, y\n",
        "PK\n",
        "NR",
        "]\0\0\0\u{1}\0\0\0\0\0\0\0\0\0",
    ] {
        check(text, text.as_bytes(), false);
    }
}

#[test]
fn an_opcode_that_calls_counts_wherever_the_pickle_ends() {
    let call = b"cos\nsystem\n(S'echo hi'\ntR.";
    check("a whole one", call, true);
    check("without its end", &call[..call.len() - 1], true);
    check("followed by anything", b"cos\nsystem\n(S'echo hi'\ntRthis is no opcode", true);
    check("before the call", &call[..call.len() - 2], false);
    for (what, text) in [
        ("an instance", b"(S'echo hi'\nios\nsystem\n.".as_slice()),
        ("an object", b"(cos\nsystem\nS'echo hi'\no."),
        ("a state", b"cos\nsystem\nNb."),
        ("a new object", b"\x80\x02N)\x81."),
        ("an extension", b"\x80\x02\x82\x01."),
        ("an import of names from the stack", b"\x80\x04\x8c\x02os\x8c\x06system\x93."),
        ("an import without a call", b"\x80\x02cos\nsystem\nno opcode"),
    ] {
        check(what, text, true);
    }
    // Several in a row, as old versions of torch.save write them.
    let mut several = written("plain values in protocol 2");
    several.extend(written("reduce in protocol 2"));
    check("a second one", &several, true);
    check("a string that looks like one", b"\x80\x02X\x10\x00\x00\x00cos\nsystem\n(tR..q\x00.", false);
}

#[test]
fn what_can_not_be_searched_counts() {
    let bomb = vec![b'N'; 80 << 20];
    check("a compressed file that grows without end", &zip(&[("packed", &bomb)]), true);
    let mut nested = written("plain values in protocol 4");
    for _ in 0..3 {
        nested = zip(&[("packed", &nested)]);
    }
    check("archives in archives", &nested, false);
    nested = zip(&[("packed", &zip(&[("packed", &nested)]))]);
    check("too many archives in archives", &nested, true);
    let whole = zip(&[("a", b"text\n")]);
    check("a whole archive", &whole, false);
    check("an archive without its end", &whole[..whole.len() - 30], true);
    check("an archive after other bytes", &[b"text\n".as_slice(), &whole].concat(), true);
    let mut encrypted = whole.clone();
    let list = memmem::find(&encrypted, b"PK\x01\x02").unwrap();
    encrypted[list + 8] = 1;
    check("an encrypted archive", &encrypted, true);
    let mut elsewhere = whole.clone();
    elsewhere[list + 42] = 200;
    check("a member beyond the end", &elsewhere, true);
    check("another compression", b"BZh91AY&SY\x01", true);
    check("values of Stable-Baselines3", b"{\"policy\": {\":serialized:\": \"gASV\"}}", true);
    check("marks without end", &vec![b'('; (1 << 20) + 10], true);
    let budget = Budget { bytes: 1000 };
    assert!(why(&bomb, budget).unwrap().contains("too large"));
    assert_eq!(why(&vec![b'?'; 80 << 20], Budget { bytes: 100_000 }), None, "only its ends are read");
}

#[test]
fn tar_archives_are_looked_into() {
    let member = |content: &[u8]| {
        let mut head = vec![0; 512];
        head[..5].copy_from_slice(b"model");
        head[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        head[257..262].copy_from_slice(b"ustar");
        head.extend(content);
        head.resize(head.len().next_multiple_of(512), 0);
        head
    };
    let end = vec![0; 1024];
    let tar = |content: &[u8]| [member(b"text\n"), member(content), end.clone()].concat();
    check("plain", &tar(&written("plain values in protocol 2")), false);
    check("executable", &tar(&written("reduce in protocol 2")), true);
}

proptest! {
    /// Whatever a file holds, there is an answer.
    #[test]
    fn anything_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..400), pick in 0..WRITTEN.len()) {
        why(&bytes, Budget::default());
        let mut damaged = bytes_of(WRITTEN[pick].1);
        for (at, byte) in bytes.chunks(2).filter_map(|pair| Some((pair[0], *pair.get(1)?))) {
            let length = damaged.len();
            damaged[usize::from(at) % length] = byte;
        }
        why(&damaged, Budget::default());
        why(&damaged[..damaged.len() / 2], Budget::default());
    }
}
