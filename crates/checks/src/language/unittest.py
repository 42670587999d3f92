# Runs unittest as `python3 -m unittest` does, and writes each test to a report in TAP.
import sys

# The runner is Python's own, whatever the project has of that name.
path = sys.path[:]
sys.path[:] = [folder for folder in path if folder]
import os
import unittest

from proofmark_running import tell

sys.path[:] = path

FOLDER = os.path.join(os.getcwd(), "")
REPORT = os.path.abspath(".proofmark-report.tap")


def line(text):
    return " ".join(str(text).split())


def place(traceback):
    """The innermost frame in a file of the project."""
    found = ""
    while traceback is not None:
        path = os.path.abspath(traceback.tb_frame.f_code.co_filename)
        if path.startswith(FOLDER):
            found = "  at: '%s:%d'\n" % (line(path[len(FOLDER) :]), traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


class Result(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.report = []

    def add(self, ok, test, directive="", error=None):
        name = line(test.id()).replace("\\", "\\\\").replace("#", "\\#")
        text = "%s %d - %s%s" % ("ok" if ok else "not ok", len(self.report) + 1, name, directive)
        if error is not None:
            said = "%s: %s" % (error[0].__name__, str(error[1])[:4000])
            text += "\n  ---\n  message: |-\n    %s\n%s  ..." % ("\n    ".join(said.splitlines()), place(error[2]))
        self.report.append(text)

    def startTest(self, test):
        tell("+", test.id())
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        tell("-", test.id())

    def addSuccess(self, test):
        super().addSuccess(test)
        self.add(True, test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.add(False, test, error=error)

    def addError(self, test, error):
        super().addError(test, error)
        self.add(False, test, error=error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.add(True, test, " # SKIP " + line(reason))

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.add(True, test, " # TODO expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.add(False, test)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.add(False, subtest, error=error)


class Runner(unittest.TextTestRunner):
    resultclass = Result

    def run(self, tests):
        result = super().run(tests)
        with open(REPORT, "w", encoding="utf-8", errors="replace") as report:
            report.write("TAP version 14\n1..%d\n" % len(result.report))
            report.writelines(text + "\n" for text in result.report)
        return result


unittest.main(module=None, argv=["python3 -m unittest", *sys.argv[1:]], testRunner=Runner)
