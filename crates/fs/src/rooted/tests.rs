use super::*;
use crate::{FsExt, RealFs};

/// Both ways to resolve a path.
fn both(root: &Path) -> [RootedFs; 2] {
    [RootedFs::new(root), RootedFs { root: Arc::new(Root::walking(root)) }]
}

struct Fixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

/// `root/inner/file` and, outside, `outside/file`; `root/out` leads there.
fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    for path in [&root.join("inner"), &outside] {
        RealFs.create_dir_all(path).unwrap();
        RealFs.write_new(&path.join("file"), b"text").unwrap();
    }
    RealFs.symlink(&outside, &root.join("out")).unwrap();
    RealFs.symlink(Path::new("inner"), &root.join("also_inside")).unwrap();
    RealFs.symlink(Path::new("/dev/null"), &root.join("inner/link")).unwrap();
    Fixture { _folder: folder, root, outside }
}

fn names(path: &Path) -> Vec<String> {
    RealFs.list(path).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn what_is_below_the_root_is_reached() {
    let fixture = fixture();
    for fs in both(&fixture.root) {
        let at = |name: &str| fixture.root.join("inner").join(name);
        assert_eq!(fs.read(&at("file"), 10).unwrap(), b"text");
        assert_eq!(fs.read_at(&at("file"), 2, 10).unwrap(), b"xt");
        assert_eq!(fs.metadata(&at("link")).unwrap().kind, Kind::Link);
        assert_eq!(fs.read_link(&at("link")).unwrap(), Path::new("/dev/null"));
        assert_eq!(fs.metadata(&fixture.root).unwrap().kind, Kind::Folder);
        fs.create_dir_all(&at("a/b")).unwrap();
        fs.write_atomic(&at("a/b/one"), b"1").unwrap();
        assert!(fs.write_new_atomic(&at("a/b/two"), b"2").unwrap());
        assert!(!fs.write_new_atomic(&at("a/b/two"), b"3").unwrap());
        fs.open_append(&at("a/b/two")).unwrap().write_all(b"2").unwrap();
        fs.copy(&at("a/b/two"), &at("a/copy")).unwrap();
        assert_eq!(fs.read(&at("a/copy"), 10).unwrap(), b"22");
        fs.replace_symlink(Path::new("b"), &at("a/best")).unwrap();
        fs.rename_new(&at("a"), &at("renamed")).unwrap();
        assert!(fs.rename_new(&at("renamed"), &fixture.root.join("inner")).unwrap_err().is_already_there());
        assert_eq!(names(&at("renamed")), ["b", "best", "copy"]);
        assert!(fs.available_space(&at("renamed")).unwrap() > 0);
        let canonical = RealFs.canonicalize(&at("renamed")).unwrap();
        assert_eq!(fs.canonicalize(&at("renamed")).unwrap(), canonical);
        fs.remove_dir_all(&at("renamed")).unwrap();
        assert!(fs.read(&at("renamed/copy"), 10).unwrap_err().is_not_found());
    }
}

#[test]
fn no_operation_follows_a_link() {
    let fixture = fixture();
    for fs in both(&fixture.root) {
        for (folder, target) in [("out", &fixture.outside), ("also_inside", &fixture.root.join("inner"))] {
            let before = names(target);
            let at = |name: &str| fixture.root.join(folder).join(name);
            let inside = |name: &str| fixture.root.join("inner").join(name);
            let refusals = [
                fs.read_at(&at("file"), 0, 10).map(drop),
                fs.metadata(&at("file")).map(drop),
                fs.list(&fixture.root.join(folder)).map(drop),
                fs.create_dir(&at("new")),
                fs.create_new(&at("new")).map(drop),
                fs.open_append(&at("file")).map(drop),
                fs.hard_link(&at("file"), &inside("new")),
                fs.hard_link(&inside("file"), &at("new")),
                fs.rename(&at("file"), &inside("new")),
                fs.rename(&inside("file"), &at("new")),
                fs.rename_new(&inside("file"), &at("new")),
                fs.symlink(Path::new("x"), &at("new")),
                fs.read_link(&at("link")).map(drop),
                fs.remove_file(&at("file")),
                fs.remove_dir(&at("file")),
                fs.sync_dir(&fixture.root.join(folder)),
                fs.available_space(&at("file")).map(drop),
                fs.copy(&inside("file"), &at("new")),
                fs.copy(&at("file"), &inside("new")),
                fs.canonicalize(&at("file")).map(drop),
                fs.remove_dir_all(&fixture.root.join(folder)),
                fs.write_atomic(&at("file"), b"overwritten"),
            ];
            for (number, refusal) in refusals.into_iter().enumerate() {
                assert!(refusal.is_err(), "operation {number} went through {folder}");
            }
            assert_eq!(names(target), before);
            assert_eq!(RealFs.read(&target.join("file"), 20).unwrap(), b"text");
        }
        let error = fs.read(&fixture.root.join("out/file"), 10).unwrap_err();
        assert_eq!(error.link(), Some(&*fixture.root.join("out")), "{error}");
        let error = fs.read(&fixture.root.join("inner/link"), 10).unwrap_err();
        assert_eq!(error.link(), Some(&*fixture.root.join("inner/link")), "{error}");
    }
}

#[test]
fn paths_that_are_not_below_the_root_are_refused() {
    let fixture = fixture();
    for fs in both(&fixture.root) {
        let up = fixture.root.join("inner/../../outside/file");
        for path in [fixture.outside.join("file"), up, PathBuf::from("file")] {
            let error = fs.read(&path, 10).unwrap_err();
            assert!(error.to_string().contains("not below"), "{error}");
        }
    }
}

#[test]
fn pipes_and_devices_are_not_read() {
    let fixture = fixture();
    let pipe = fixture.root.join("inner/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let rooted = both(&fixture.root);
    for fs in [&rooted[0] as &dyn Fs, &rooted[1], &RealFs] {
        assert!(fs.read(&pipe, 10).unwrap_err().to_string().contains("not a plain file"));
        assert!(fs.open_append(&pipe).is_err());
    }
    assert!(RealFs.read(Path::new("/dev/zero"), 10).unwrap_err().to_string().contains("not a plain file"));
}

#[test]
fn the_root_may_be_reached_through_a_link_and_come_later() {
    let fixture = fixture();
    let through = fixture.root.parent().unwrap().join("through");
    let fs = RealFs.rooted(&through);
    assert!(fs.list(&through).unwrap_err().is_not_found());
    RealFs.symlink(&fixture.root, &through).unwrap();
    assert_eq!(fs.read(&through.join("inner/file"), 10).unwrap(), b"text");
    assert!(fs.rooted(&through.join("inner")).read(&through.join("out/file"), 10).is_err());
}

#[test]
fn a_folder_with_names_that_are_not_text_is_removed() {
    let fixture = fixture();
    let fs = RealFs.rooted(&fixture.root);
    let folder = fixture.root.join("odd");
    let name = OsStr::from_bytes(b"\xff\xfe");
    fs.create_dir(&folder).unwrap();
    fs.write_new(&folder.join(name), b"").unwrap();
    assert_eq!(fs.list_raw(&folder).unwrap().len(), 1);
    assert!(fs.list(&folder).unwrap().is_empty());
    fs.remove_dir_all(&folder).unwrap();
    assert!(fs.metadata_if_any(&folder).unwrap().is_none());
}
