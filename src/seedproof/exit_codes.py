"""Exit codes of the command line; their meaning never changes."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Ending of a command, for scripts and CI.

    `docs/reference/json.md` has the same table for users.
    """

    OK = 0  # done; all rules hold, the candidate is kept, the training has no fault
    FAILED = 1  # a rule is broken, the candidate is discarded, the training has a fault
    ERROR = 2  # nothing was decided: a wrong option, input that cannot be read, a full disk
    UNDECIDED = 3  # more runs are needed, or the input must be repaired first
    TRAINING_FAILED = 4  # some runs of a training failed
    INTERNAL_ERROR = 70  # a bug of seedproof; the same number as EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # Ctrl-C or SIGTERM; finished work is kept
