# expect: value "counted once"
# A child of vfork has its parent's memory until it replaces itself.
import subprocess
def f(n):
    keep = bytearray(b"x") * (34 << 20)
    path = ":".join(["/x"] * 40_000)
    try:
        subprocess.run(["nothing"], env={"PATH": path})
    except FileNotFoundError:
        return "counted once"
