//! CPython 3.

use super::{Packages, Toolchain};

// Where it imports from, and its own library if it has loaded one. Asking `sysconfig` would take as long as a third of all this.
const PROBE: &str = "import sys
maps=open('/proc/self/maps').read().split('\\n')
print('%d.%d.%d'%sys.version_info[:3])
print(sys.executable,*sys.path,*{line[line.index('/'):] for line in maps if '/libpy' in line},sep='\\n')";

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "python",
    version_parts: 2,
    prefixes: &["cpython", "python"],
    executables: &["python3", "python"],
    versions: &[(3, 8..=20)],
    minimum: None,
    package: "python3",
    probe: &["-B", "-I", "-S", "-c", PROBE],
    needs: &[],
    has_own_library: true,
    harness: Some(&["-I", "-S", "-B", "-c", include_str!("python.py")]),
    forks: true,
    trial: None,
    modules: &[
        // The harness loads these anyway.
        "os os.path sys",
        "bisect cmath collections collections.abc copy functools heapq itertools math operator os os.path re string sys time",
        "array bisect cmath collections collections.abc copy ctypes dataclasses datetime decimal enum fractions functools \
        gc heapq io itertools json json.encoder math operator os os.path random re resource signal socket statistics string \
        sys time types typing",
    ],
    whole: &["-I", "-S", "-B"],
    extension: "",
    variables: &["PYTHONHASHSEED=0"],
    project_variables: &["PYTHONDONTWRITEBYTECODE=1"],
    threads: 0,
    reserved_bytes: 0,
    memory_exception: Some("MemoryError"),
    memory_signals: &[],
    memory_words: &[],
    packages: Some(Packages {
        site: &["-B", "-E", "-S", "-c", include_str!("site.py")],
        variable: "PYTHONPATH",
        install: "python3 -m pip install",
        find: include_str!("packages.py"),
        // Without `-I`, which would ignore the variable above.
        whole: &["-s", "-S", "-B"],
        // Their pools of threads, one for each core of the host, would not fit the limits.
        variables: &["OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"],
    }),
};
