"""Reports where code was really loaded from.

rlx puts this in front of Python's path for a governed run. Each time code is
executed whose file has the name of a file that the candidate changed, the path
of that file goes, one per line, into a file of the run's folder. An installed
copy that shadows the changed one shows itself that way.
"""
import os
import sys


def _watch():
    names = set(filter(None, os.environ.get("RLX_WATCHED", "").split(os.pathsep)))
    target = os.environ.get("RLX_LOADED")
    if not names or not target:
        return
    seen = set()

    def hook(event, arguments):
        if event != "exec":
            return
        path = getattr(arguments[0], "co_filename", None)
        if not isinstance(path, str) or path in seen or os.path.basename(path) not in names:
            return
        seen.add(path)
        try:
            handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.write(handle, (os.path.abspath(path) + "\n").encode("utf-8", "surrogateescape"))
            finally:
                os.close(handle)
        except OSError:
            pass

    sys.addaudithook(hook)


def _run_shadowed():
    """Runs the sitecustomize that this one shadows."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [place for place in sys.path if os.path.abspath(place or ".") != here]
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        spec.loader.exec_module(module_from_spec(spec))


_watch()
_run_shadowed()
