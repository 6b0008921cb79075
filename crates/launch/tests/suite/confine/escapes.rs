//! Steps that try to do what they must not.

use std::net::TcpListener;

use rlxp_launch::order::Reach;

use super::stage::Stage;
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    writes_stay_inside,
    hidden_files_stay_hidden,
    nothing_exists_but_what_is_listed,
    a_socket_that_appears_later_is_out_of_reach,
    sockets_without_a_path_are_out_of_reach,
    temporary_files_are_its_own,
    links_on_the_way_to_a_listed_path_work,
    the_run_stays_readable_below_something_hidden,
    the_network_is_out_of_reach,
    processes_outside_are_out_of_reach,
    keys_and_other_kinds_of_sockets_are_out_of_reach,
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
    // Even where all around it is listed.
    stage.step().readable = vec![top.clone()];
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

fn nothing_exists_but_what_is_listed() {
    let mut stage = Stage::shell(
        r#"
        try() { "$@" 2>/dev/null && echo "worked: $*"; }
        try cat "@top@/policy"
        try ln "@top@/policy" "@run@/train/policy"
        try cp "@top@/policy" "@run@/train/policy"
        ln -s "@top@/policy" "@run@/train/link"
        try cat "@run@/train/link"
        try ls "@top@/unlisted"
        for folder in /home /root /run /srv /mnt /media /boot; do try ls -d "$folder"; done
        ls -A /var "@top@"
        try chmod 700 "@top@/listed/file"
        try touch "@top@/listed/new" "@top@/new" /new /usr/new
        cat "@top@/listed/file"
        "#,
    )
    .fill_in();
    let top = stage.path().to_owned();
    std::fs::write(top.join("policy"), "trained elsewhere\n").unwrap();
    std::fs::create_dir(top.join("unlisted")).unwrap();
    std::fs::create_dir(top.join("listed")).unwrap();
    std::fs::write(top.join("listed/file"), "listed\n").unwrap();
    stage.step().readable = vec![top.join("listed")];
    let name = stage.order.folder.file_name().unwrap().to_str().unwrap();
    let expected = format!("/var:\ntmp\n\n{}:\nlisted\n{name}\nlisted\n", top.display());
    let outcome = stage.run();
    assert_eq!(outcome.out, expected, "{outcome:?}");
    assert!(!stage.own().join("policy").exists());
    // Without mounts, Landlock keeps to the same list.
    let outcome = super::stage::without("mount_namespace", || {
        stage.order.confinement.least = rlxp_launch::order::Level::Partial;
        std::fs::remove_file(stage.own().join("link")).unwrap();
        stage.run()
    });
    let read =
        |what: &str| outcome.out.lines().any(|line| line.starts_with("worked: ") && line.contains(what));
    assert!(!read("cat") && !read("cp") && outcome.out.ends_with("listed\n"), "{outcome:?}");
}

const CLIENT: &str = r#"
import os, socket, sys, time
open(os.path.join(os.path.dirname(os.getcwd()), "train", "ready"), "w").close()
for line in sys.stdin: pass
deadline = time.monotonic() + 20
while not os.path.exists(os.path.join(os.path.dirname(os.getcwd()), "train", "there")):
    assert time.monotonic() < deadline
    time.sleep(0.001)
for path in @paths@:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print("reached", path)
    except OSError as error:
        print("out of reach", type(error).__name__)
"#;

/// An agent that signs with a person's keys is such a socket.
fn a_socket_that_appears_later_is_out_of_reach() {
    let mut stage = Stage::python("");
    let top = stage.path().to_owned();
    let unlisted = top.join("agent");
    let paths = [top.join("agent.sock"), unlisted.join("sock")];
    let script =
        CLIENT.replace("@paths@", &format!("{:?}", paths.each_ref().map(|path| path.to_str().unwrap())));
    *stage.step().argv.last_mut().unwrap() = script;
    let mut confined = stage.spawn();
    confined.started().expect("it starts");
    while !stage.own().join("ready").exists() {
        std::thread::yield_now();
    }
    std::fs::create_dir(&unlisted).unwrap();
    let listeners = paths.map(|path| std::os::unix::net::UnixListener::bind(path).unwrap());
    std::fs::write(stage.own().join("there"), "").unwrap();
    let (mut stdout, _stderr) = confined.take_output().unwrap();
    let mut out = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut out).unwrap();
    assert_eq!(out, "out of reach FileNotFoundError\n".repeat(2));
    for listener in listeners {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
    }
}

fn sockets_without_a_path_are_out_of_reach() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    for reach in [Reach::None, Reach::Loopback, Reach::Everything] {
        let mut stage = Stage::python("");
        let name = stage.name();
        let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        *stage.step().argv.last_mut().unwrap() = format!(
            "import socket\nsocket.socket(socket.AF_UNIX).connect(chr(0) + '{name}'); print('reached')"
        );
        stage.order.confinement.network = reach;
        let outcome = stage.run();
        let version: u32 = outcome.mechanisms.files.as_ref().unwrap()["landlock ".len()..].parse().unwrap();
        // With the network of the machine, only Landlock can refuse, if it is new enough.
        if reach != Reach::Everything || version >= 6 {
            assert_eq!(outcome.out, "", "{reach:?} {outcome:?}");
        }
    }
}

fn temporary_files_are_its_own() {
    let outside = tempfile::Builder::new().prefix("rlx-outside").tempdir_in("/tmp").unwrap();
    let script = format!(
        "ls -A /tmp /dev/shm; ls {} 2>/dev/null; echo 1 > /tmp/@name@; echo 2 > /dev/shm/@name@; \
         cat /tmp/@name@ /dev/shm/@name@; stat -c %a /tmp /dev/shm",
        outside.path().display()
    );
    let stage = Stage::shell(&script).fill_in();
    let outcome = stage.run();
    assert_eq!(outcome.out, "/dev/shm:\n\n/tmp:\n1\n2\n1777\n1777\n", "{outcome:?}");
    for folder in ["/tmp", "/dev/shm"] {
        assert!(!std::path::Path::new(folder).join(stage.name()).exists());
    }
    // A folder there that leads to something listed is the machine's.
    let inside = outside.path().join("listed");
    std::fs::create_dir(&inside).unwrap();
    let mut stage = Stage::shell(&format!(
        "cd {}; ls -A; echo > new && echo worked; echo > listed/new && echo worked; echo > /tmp/new && echo own",
        outside.path().display()
    ));
    stage.step().readable = vec![inside];
    let outcome = stage.run();
    assert_eq!(outcome.out, "listed\nown\n", "{outcome:?}");
    // Both together hold no more than the limit on memory.
    let mut stage = Stage::shell(
        "for place in /tmp /dev/shm; do head -c 3145728 /dev/zero > $place/file 2>/dev/null && echo fits; done",
    );
    stage.order.limits.memory = 4 << 20;
    assert_eq!(stage.run().out, "fits\n");
}

fn links_on_the_way_to_a_listed_path_work() {
    let mut stage =
        Stage::shell(r#"cat "@top@/home/data/file" "@top@/home/again"; readlink "@top@/home""#).fill_in();
    let top = stage.path().to_owned();
    std::fs::create_dir_all(top.join("disk/me/data")).unwrap();
    std::fs::write(top.join("disk/me/data/file"), "data\n").unwrap();
    std::fs::write(top.join("disk/me/other"), "other\n").unwrap();
    std::os::unix::fs::symlink(top.join("disk/me"), top.join("home")).unwrap();
    std::os::unix::fs::symlink("data/file", top.join("disk/me/again")).unwrap();
    stage.step().readable = vec![top.join("home/data"), top.join("home/again"), top.join("home/absent")];
    let outcome = stage.run();
    assert_eq!(outcome.out, format!("data\ndata\n{}\n", top.join("disk/me").display()), "{outcome:?}");
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

const CALLS: &str = r#"
import ctypes, errno, mmap, os, platform, signal, socket
c = ctypes.CDLL(None, use_errno=True)
def refused(*call):
    return c.syscall(*call) == -1 and ctypes.get_errno() == errno.EPERM
def kind_is_refused(make, family):
    try:
        make(family, socket.SOCK_DGRAM)
    except OSError as error:
        return error.errno == errno.EPERM
for number in @refused@:
    assert refused(number, 0, 0, 0, 0, 0), number
for family in range(1, 50):
    usual = family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
    for make in (socket.socket, socket.socketpair):
        assert bool(kind_is_refused(make, family)) != usual, family
def of_another_set():
    # getpid of 32-bit programs: mov eax, 20; int 0x80; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
if platform.machine() == "x86_64":
    assert refused(0x40000000 | 39), "x32"
    child = os.fork()
    if child == 0:
        of_another_set()
        os._exit(0)
    # Kernels that don't know them at all kill it too.
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (-signal.SIGSYS, -signal.SIGSEGV)
print("refused")
"#;

fn keys_and_other_kinds_of_sockets_are_out_of_reach() {
    let calls = [libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, libc::SYS_io_uring_setup];
    for reach in [Reach::None, Reach::Everything] {
        let mut stage = Stage::python(&CALLS.replace("@refused@", &format!("{calls:?}")));
        stage.order.confinement.network = reach;
        let outcome = stage.run();
        assert_eq!(outcome.out, "refused\n", "{outcome:?}");
        assert_eq!(outcome.mechanisms.syscalls.as_deref(), Some("seccomp filter"), "{outcome:?}");
    }
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
         print(subprocess.run(['/bin/sh', '-c', 'echo child'], capture_output=True).stdout)\n\
         with multiprocessing.get_context('forkserver').Pool(2) as pool: print(pool.map(abs, [-3]))\n\
         with multiprocessing.Manager() as manager: print(list(manager.list([4])))\n\
         open('/tmp/hard-coded', 'w').write('x'); print(os.listdir('/tmp'), os.path.exists('/dev/fd/0'))";
    let script = script.replace("'@run@/train'", "os.path.join(os.path.dirname(os.getcwd()), 'train')");
    let outcome = Stage::python(&script).run();
    assert_eq!(outcome.out, "[1, 2]\nTrue\nb'child\\n'\n[3]\n[4]\n['hard-coded'] True\n", "{outcome:?}");
}
