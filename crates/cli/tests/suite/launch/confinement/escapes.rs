//! Escapes from the run: the user's files, other processes, the network, the record.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use super::{attempts, files, said};
use crate::launch::candidates::reward_with;
use crate::launch::repository::Repository;

/// No attempt has any effect but a line in the log.
#[test]
fn training_reaches_nothing_but_its_own_folders() {
    let repository = Repository::build().without_baseline().approved();
    let (root, home) = (repository.path(""), repository.home().to_owned());
    let ssh = home.join(".ssh");
    std::fs::create_dir_all(&ssh).unwrap();
    std::fs::write(ssh.join("id_ed25519"), "a private key").unwrap();
    let unique = home.file_name().unwrap().to_str().unwrap().trim_start_matches('.').to_owned();

    // What would notice.
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = SocketAddr::from_abstract_name(&unique).unwrap();
    let [by_name, by_path] =
        [UnixListener::bind_addr(&name).unwrap(), UnixListener::bind(home.join("agent.sock")).unwrap()];
    let mut decoy = Command::new("sleep").arg("600").spawn().unwrap();

    let root_text = root.to_str().unwrap().trim_end_matches('/').to_owned();
    let home_text = home.to_str().unwrap().to_owned();
    let ledger = repository.file("ledger.jsonl").display().to_string();
    let contract = repository.file("contract.yaml").display().to_string();
    let tried: Vec<(&str, String)> = vec![
        ("write_working_copy", format!("write('{root_text}/escaped')")),
        ("append_working_copy", format!("write('{root_text}/src/balance_eval/evaluate.py')")),
        ("cut_working_copy", format!("os.truncate('{root_text}/README.md', 0)")),
        ("remove_working_copy", format!("os.remove('{root_text}/README.md')")),
        ("mode_working_copy", format!("os.chmod('{root_text}/README.md', 0o777)")),
        ("time_working_copy", format!("os.utime('{root_text}/README.md', (0, 0))")),
        ("owner_working_copy", format!("os.chown('{root_text}/README.md', os.getuid(), os.getgid())")),
        ("mark_working_copy", format!("os.setxattr('{root_text}/README.md', 'user.escaped', b'1')")),
        ("write_environment", format!("write('{root_text}/.venv/escaped.pth')")),
        ("write_git", format!("write('{root_text}/.git/hooks/post-commit')")),
        ("write_home", format!("write('{home_text}/escaped')")),
        ("mode_home", format!("os.chmod('{home_text}', 0o777)")),
        ("write_var_tmp", format!("write('/var/tmp/{unique}-escaped')")),
        ("link_file", format!("through('{root_text}/README.md', OWN + '/file', OWN + '/file')")),
        ("link_folder", format!("through('{home_text}', OWN + '/folder', OWN + '/folder/escaped')")),
        ("link_tree", format!("(os.symlink('{home_text}', 'src/folder'), write('src/folder/escaped'))")),
        ("hard_link", format!("os.link('{root_text}/README.md', OWN + '/hard')")),
        ("move_out", format!("(write(OWN + '/moved'), os.rename(OWN + '/moved', '{home_text}/moved'))")),
        ("read_key", format!("read('{home_text}/.ssh/id_ed25519')")),
        ("copy_policy", format!("__import__('shutil').copy('{root_text}/README.md', OWN + '/copied')")),
        ("list_home", format!("os.listdir('{home_text}').index('agent.sock')")),
        ("read_approvers", format!("read('{home_text}/.config/rlx/approvers')")),
        ("read_ledger", format!("read('{ledger}')")),
        ("read_contract", format!("read('{contract}')")),
        ("read_order", "read(OWN + '/../order.json')".to_owned()),
        ("read_through_proc", format!("read('/proc/self/root{home_text}/.ssh/id_ed25519')")),
        ("read_keeper", "read('/proc/1/environ')".to_owned()),
        ("edit_ledger", format!("write('{ledger}')")),
        ("remove_ledger", format!("os.remove('{ledger}')")),
        ("replace_study", format!("os.rename('{root_text}/.rlxp', '{root_text}/.gone')")),
        ("write_end", "write(OWN + '/../end.json')".to_owned()),
        ("write_cancel", "write(OWN + '/../cancel')".to_owned()),
        ("write_log", "write(OWN + '/../train.log')".to_owned()),
        ("write_base", "[write(path + '/README.md') for path in __import__('glob').glob(OWN + '/../../../trees/*') or [OWN + '/../x']]".to_owned()),
        ("loosen_limits", "[write(path, '-1') for path in ('/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/cgroup.procs')]".to_owned()),
        ("tcp", format!("socket.create_connection(('127.0.0.1', {}), 2).send(b'x')", tcp.local_addr().unwrap().port())),
        ("udp", format!("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {}))", udp.local_addr().unwrap().port())),
        ("abstract_socket", format!("connect(chr(0) + '{unique}')")),
        ("socket_in_home", format!("connect('{home_text}/agent.sock')")),
        ("kill_decoy", format!("os.kill({}, 9)", decoy.id())),
        ("kill_all", "kill_all()".to_owned()),
        ("mount", format!("mount(b'{root_text}')")),
        ("uncover", format!("uncover(b'{home_text}/.ssh', '{home_text}/.ssh/id_ed25519')")),
    ];
    // It has a `/tmp` of its own.
    let own_tmp = format!("write('/tmp/{unique}-escaped')\n");
    let code = attempts(&[]) + &own_tmp + HELPERS + attempts(&tried).strip_prefix(&attempts(&[])).unwrap();

    let (state, before) = (home.join(".local"), repository.untouched());
    let home_before = files(&home, &state);
    let modes_before = files(&root, &root.join(".rlxp"));
    repository.ready("escapes", reward_with(&code));
    let ran = repository.launch("escapes");
    let alive = decoy.try_wait().unwrap().is_none();
    let _ = decoy.kill();
    decoy.wait().unwrap();

    // The effects outside first.
    assert!(alive, "a process of somebody else was killed");
    tcp.set_nonblocking(true).unwrap();
    assert_eq!(tcp.accept().map(drop).unwrap_err().kind(), ErrorKind::WouldBlock);
    udp.set_nonblocking(true).unwrap();
    assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    for (listener, what) in [(&by_name, "by name"), (&by_path, "by path")] {
        listener.set_nonblocking(true).unwrap();
        let accepted = listener.accept().map(drop);
        assert_eq!(accepted.map_err(|error| error.kind()), Err(ErrorKind::WouldBlock), "{what}");
    }
    assert_eq!(files(&home, &state), home_before);
    assert_eq!(files(&root, &root.join(".rlxp")), modes_before);
    assert_eq!(repository.untouched(), before);
    for folder in ["/tmp", "/var/tmp"] {
        assert!(!std::path::Path::new(&format!("{folder}/{unique}-escaped")).exists());
    }
    repository.rlx("verify --chain").expect(0);

    // Training continued, and its attempts are in the log.
    ran.expect(0);
    let key = &repository.runs_of("escapes")[0];
    let end = repository.end_of(key);
    assert_eq!((&end["end"], &end["confinement"]), (&"ok".into(), &"full".into()), "{end}");
    let said = said(&repository, key);
    assert_eq!(said.len(), tried.len(), "{said:?}");
    let done: Vec<&String> = said.iter().filter(|(_, word)| *word == "DONE").map(|(what, _)| what).collect();
    assert_eq!(done, Vec::<&String>::new());
}

/// Attempts that take more than a line. Harmful signals are sent only where they do no harm if sandboxing is broken: to
/// the first process of the namespace, which the kernel protects, and to a process that the test started.
const HELPERS: &str = "\
import ctypes
import socket

LIBC = ctypes.CDLL(None, use_errno=True)


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(2)
    client.connect(path)


def through(target, link, path):
    # Left behind, the link alone would end the run.
    os.symlink(target, link)
    try:
        write(path)
    finally:
        os.remove(link)


def kill_all():
    for pid in (1, os.getppid()):
        try:
            os.kill(pid, 9)
        except OSError:
            pass
    answered = []
    for pid in range(1, 65536):
        try:
            os.kill(pid, 0)
        except OSError:
            continue
        answered.append(pid)
    others = set(answered) - {1, os.getpid()}
    if not others:
        raise OSError('nobody else is there')


def call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(at):
    LIBC.unshare(0x10000000 | 0x20000)
    call(LIBC.mount(b'none', at, b'tmpfs', 0, None))


def uncover(at, path):
    call(LIBC.umount2(at, 2))
    read(path)


";
