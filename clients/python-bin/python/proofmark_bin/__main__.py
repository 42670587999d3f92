"""`python -m proofmark_bin` is `proofmark`: the same arguments, streams and exit code."""

import os
import sys

from proofmark_bin import ProofmarkNotFound, find_proofmark_bin


def main() -> None:
    try:
        program = find_proofmark_bin()
        os.execv(program, [program, *sys.argv[1:]])
    except ProofmarkNotFound as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"error: failed to start `{program}`: {error.strerror}", file=sys.stderr)
    # 2 is "no result", as the program itself has it.
    sys.exit(2)


if __name__ == "__main__":
    main()
