# Prints the folders in which the interpreter looks for installed packages, one a line, in its order. It is run without `site`, so
# nothing of a package runs.
import sys

sys.path = [entry for entry in sys.path if entry]
import site


def show(folder, known=None):
    print(folder)
    return known


site.addsitedir = show
site.ENABLE_USER_SITE = site.check_enableusersite()
site.addusersitepackages(None)
site.addsitepackages(None)
