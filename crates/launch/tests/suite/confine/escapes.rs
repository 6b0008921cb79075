//! Steps that try to do what they must not.

use std::net::TcpListener;

use rlxp_launch::order::Reach;

use super::stage::Stage;
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    writes_stay_inside,
    hidden_files_stay_hidden,
    the_run_stays_readable_below_something_hidden,
    the_network_is_out_of_reach,
    processes_outside_are_out_of_reach,
    mounts_and_privileges_are_out_of_reach,
    only_what_was_given_is_inherited,
    what_a_step_needs_works,
];

fn writes_stay_inside() {
    // Each line that is printed is an attempt that worked.
    let stage = Stage::shell(
        r#"
        try() { "$@" 2>/dev/null && echo "worked: $*"; }
        write() { echo x > "$1"; }
        try write "@top@/outside"
        try write "@run@/eval/result"
        try write "@run@/order.json"
        try write "@run@/train.changed/direct"
        try write "/tmp/@name@"
        try write "$HOME/x"
        try mkdir "@run@/eval/folder"
        try rm "@top@/victim"
        try mv "@top@/victim" "@run@/train/victim"
        try ln "@top@/victim" "@run@/train/linked"
        ln -s "@top@" "@run@/train/out"
        try write "@run@/train/out/through"
        try write "@run@/train/out/victim"
        ln -s "@top@" out
        try write out/victim
        try truncate -s 0 "@top@/victim"
        try chmod 000 "@top@/absent"
        try write /dev/vda
        try write /proc/sys/kernel/hostname
        try mknod device c 1 3
        write "@run@/train/fine" && write fine && echo done
        "#,
    )
    .fill_in();
    std::fs::write(stage.path().join("victim"), "whole").unwrap();
    let outcome = stage.run();
    assert_eq!((outcome.out.as_str(), outcome.exit.code), ("done\n", Some(0)), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(stage.path().join("victim")).unwrap(), "whole");
    assert_eq!(std::fs::read_dir(stage.order.folder.join("eval")).unwrap().count(), 0);
    assert!(!std::path::Path::new("/tmp").join(stage.name()).exists());
    assert!(stage.own().join("fine").exists());
}

fn hidden_files_stay_hidden() {
    let mut stage = Stage::shell(
        r#"
        cat "@top@/keys/id"; cat "@top@/link/id"; cat "@top@/secret"; ls -A "@top@/keys"; cp -r "@top@/keys" .
        cat "@top@/later"; cat "/proc/1/root@top@/keys/id"; head -c 1 /dev/vda; head -c 1 /dev/mem
        cat "@top@/open" && ls "@top@" | head -1
        "#,
    )
    .fill_in();
    let top = stage.path().to_owned();
    std::fs::create_dir(top.join("keys")).unwrap();
    std::fs::write(top.join("keys/id"), "a key\n").unwrap();
    std::fs::write(top.join("secret"), "a secret\n").unwrap();
    std::fs::write(top.join("open"), "open\n").unwrap();
    std::os::unix::fs::symlink("keys", top.join("link")).unwrap();
    // Hiding a link hides its target too; a missing file is not an error.
    stage.order.confinement.hidden =
        ["link", "secret", "later", "not/there"].map(|name| top.join(name)).to_vec();
    let outcome = stage.run();
    assert_eq!(outcome.out, "open\nbase,of:all\n", "{outcome:?}");
    assert_eq!(std::fs::read_to_string(top.join("keys/id")).unwrap(), "a key\n");
    // Landlock alone keeps them hidden too.
    let outcome =
        super::stage::without("user_namespace,mount_namespace,pid_namespace,network_namespace", || {
            stage.order.confinement.least = rlxp_launch::order::Level::Partial;
            stage.run()
        });
    assert_eq!(outcome.out, "open\n", "{outcome:?}");
}

fn the_run_stays_readable_below_something_hidden() {
    let mut stage = Stage::shell(
        r#"cat reward.py kept.txt "@run@/smoke/result" "@run@/order.json"; echo fine > "@run@/train/file"; ls "@run@""#,
    )
    .fill_in();
    let mut earlier = stage.order.steps[0].clone();
    earlier.name = "smoke".to_owned();
    stage.order.steps.insert(0, earlier);
    stage.order.confinement.hidden = vec![stage.path().to_owned()];
    std::fs::create_dir(stage.order.folder.join("smoke")).unwrap();
    std::fs::write(stage.order.folder.join("smoke/result"), "smoke\n").unwrap();
    std::fs::write(stage.order.folder.join("order.json"), "order\n").unwrap();
    let outcome = stage.run();
    assert!(outcome.out.starts_with("changed\nkept\nsmoke\n"), "{outcome:?}");
    assert!(!outcome.out.contains("order\n") && !outcome.out.contains("eval"), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(stage.own().join("file")).unwrap(), "fine\n");
}

const CONNECT: &str = r#"
import socket, sys
def attempt(what, act):
    try:
        act()
        print(what, "worked")
    except OSError:
        print(what, "failed")
def listen():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname(), timeout=5)
attempt("outside", lambda: socket.create_connection(("127.0.0.1", @port@), timeout=5))
attempt("itself", listen)
"#;

fn the_network_is_out_of_reach() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = CONNECT.replace("@port@", &server.local_addr().unwrap().port().to_string());
    for (reach, outside, itself) in [
        (Reach::None, "failed", "failed"),
        (Reach::Loopback, "failed", "worked"),
        (Reach::Everything, "worked", "worked"),
    ] {
        let mut stage = Stage::python(&script);
        stage.order.confinement.network = reach;
        let outcome = stage.run();
        assert_eq!(outcome.out, format!("outside {outside}\nitself {itself}\n"), "{reach:?}: {outcome:?}");
    }
}

fn processes_outside_are_out_of_reach() {
    let script = format!(
        "kill -0 {0}; kill -9 {0}; kill -9 1; kill -9 -1; ls -d /proc/[0-9]*; true",
        std::process::id()
    );
    let outcome = Stage::shell(&script).run();
    // `kill -1` spares the shell itself, which sees only the first process of the namespace and itself.
    assert_eq!(outcome.out.lines().next(), Some("/proc/1"), "{outcome:?}");
    assert_eq!((outcome.out.lines().count(), outcome.exit.code), (2, Some(0)), "{outcome:?}");
    // Without a namespace Landlock keeps signals inside, if it is new enough.
    super::stage::without("pid_namespace", || {
        let mut stage = Stage::shell(&format!(
            "kill -0 {} && echo reached; kill -0 $PPID && echo reached",
            std::process::id()
        ));
        stage.order.confinement.least = rlxp_launch::order::Level::Partial;
        let outcome = stage.run();
        let version: u32 = outcome.mechanisms.files.as_ref().unwrap()["landlock ".len()..].parse().unwrap();
        assert!(version < 6 || outcome.out.is_empty(), "{outcome:?}");
    });
}

fn mounts_and_privileges_are_out_of_reach() {
    let outcome = Stage::shell(
        r#"
        try() { "$@" 2>/dev/null && echo "worked: $*"; }
        try umount /proc
        try umount "$PWD"
        try mount -o remount,rw /
        try mount -t tmpfs none /mnt
        try mount --bind / /mnt
        try unshare --user --map-root-user --mount umount /proc
        try unshare --user --map-root-user --mount mount -t tmpfs none /mnt
        try chroot / true
        grep -E '^(CapPrm|CapEff|CapBnd|NoNewPrivs)' /proc/self/status
        ulimit -c
        "#,
    )
    .run();
    let none = "0000000000000000";
    let expected = format!("CapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nNoNewPrivs:\t1\n0\n");
    assert_eq!(outcome.out, expected, "{outcome:?}");
}

fn only_what_was_given_is_inherited() {
    let script = "import os, signal\n\
         print(sorted(os.environ.items()))\n\
         print(sorted(os.listdir('/proc/self/fd'))[:-1], os.readlink('/proc/self/fd/0'))\n\
         print(os.getsid(0) == os.getpid() == os.getpgid(0), signal.pthread_sigmask(signal.SIG_BLOCK, []))\n\
         print(open('/proc/self/status').read().split('SigIgn:')[1].split()[0])";
    let outcome = Stage::python(script).run();
    let lines: Vec<&str> = outcome.out.lines().collect();
    assert!(lines[0].contains("('PATH', '/usr/bin:/bin'), ('RLX_SEEN', 'only this')"), "{outcome:?}");
    assert!(!lines[0].contains("HOME"), "{outcome:?}");
    assert_eq!(&lines[1..3], ["['0', '1', '2'] /dev/null", "True set()"], "{outcome:?}");
    // Python itself ignores SIGPIPE (13) and SIGXFSZ (25).
    assert_eq!(lines[3], "0000000001001000", "{outcome:?}");
}

fn what_a_step_needs_works() {
    let script = "import multiprocessing, multiprocessing.shared_memory as shared, os, subprocess, tempfile\n\
         block = shared.SharedMemory(create=True, size=1 << 20); block.close(); block.unlink()\n\
         lock = multiprocessing.Lock()\n\
         with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, -2]))\n\
         os.environ['TMPDIR'] = '@run@/train'\n\
         tempfile.NamedTemporaryFile(dir='@run@/train').write(b'x')\n\
         open('/dev/null', 'w').write('x'); os.urandom(4); print(len(os.listdir('/')) > 3)\n\
         print(subprocess.run(['/bin/sh', '-c', 'echo child'], capture_output=True).stdout)";
    let script = script.replace("'@run@/train'", "os.path.join(os.path.dirname(os.getcwd()), 'train')");
    let outcome = Stage::python(&script).run();
    assert_eq!(outcome.out, "[1, 2]\nTrue\nb'child\\n'\n", "{outcome:?}");
}
