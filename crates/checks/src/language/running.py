# Tells the verifier which tests of pytest or unittest start and end, where it has given this process a pipe for that.
import os


def opened():
    try:
        number, inode = map(int, os.environ["PROOFMARK_RUNNING"].split(":"))
        # In a process that the runner has started, another file may have the number.
        return number if os.fstat(number).st_ino == inode else None
    except (KeyError, ValueError, OSError):
        return None


PIPE = opened()


def tell(sign, name):
    if PIPE is not None and name:
        try:
            os.write(PIPE, ("%s%s\n" % (sign, " ".join(name.split())[:2000])).encode("utf-8", "replace"))
        except OSError:
            pass


def pytest_collectstart(collector):
    tell("+", collector.nodeid)


def pytest_collectreport(report):
    tell("-", report.nodeid)


def pytest_runtest_logstart(nodeid, location):
    tell("+", nodeid)


def pytest_runtest_logfinish(nodeid, location):
    tell("-", nodeid)
