"""All errors that seedproof raises, each with a code whose meaning never changes.

SeedproofError                      SP000
├── InputError (ValueError)         SP100  the input cannot be measured
│   ├── NotFoundError               SP101  no such file, folder or store
│   ├── UnreadableError             SP102  the file is damaged or has another format
│   ├── ColumnError                 SP103  a column is missing, duplicated or unknown
│   ├── EmptyInputError             SP104  no rows
│   ├── TooFewRunsError             SP105  a flip needs two runs
│   ├── DuplicateExampleError       SP106  a run contains the same example twice
│   ├── MissingExampleError         SP107  runs contain different examples
│   ├── LabelConflictError          SP108  runs have different labels for an example
│   ├── UnknownLabelError           SP109  a label is not one of the classes
│   ├── ProbabilityError            SP110  not a probability distribution
│   ├── ShapeError                  SP111  the shapes of arrays do not match
│   ├── DtypeError (TypeError)      SP112  values have the wrong type
│   ├── ClassesError                SP113  too few or too many classes
│   ├── MissingValueError           SP114  a run, id, prediction or probability is empty
│   ├── OptionError                 SP115  an argument or option has a value that is not allowed
│   └── WeightError                 SP116  a weight of an example differs, or is not 0 or above
├── StoreError                      SP200  a store on disk cannot be used
│   ├── DamagedStoreError           SP201  the data differ from what was committed
│   ├── SchemaVersionError          SP202  written by a newer seedproof
│   ├── RunExistsError              SP203  the run is already committed
│   └── LockError                   SP204  a store cannot be locked
├── UnknownNameError (LookupError)  SP301  no metric, check, chart or engine of that name
├── MissingExtraError (ImportError) SP401  an optional dependency is not installed
├── RunError (RuntimeError)         SP500  a run cannot start or continue
│   ├── StudyChangedError           SP501  the store contains another study
│   ├── CodeChangedError            SP502  finished runs were made by other code
│   ├── TaskError                   SP503  a task in another process failed
│   ├── TargetError                 SP504  the training target cannot be found or called
│   ├── MissingAverageError         SP505  an optimizer resumes without its average
│   └── PlatformError               SP506  the system lacks a call that an engine needs
└── EnvironmentChangedError (ValueError)
                                    SP601  records were made in different environments
"""

from typing import ClassVar, Self

from seedproof.messages import printable, render


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error, for use in a message."""
    return str(error).strip().split("\n", maxsplit=1)[0].rstrip(".")


class SeedproofError(Exception):
    """Base of all errors of seedproof; the message is one line and says what to do.

    Args:
        template: The message, with the names of fields: "{path} has no column {column!r}."
        **fields: A value for each name, and further facts such as `runs`, `path`, `option` or
            `known`. Programs read them from `error.fields` and never parse the text.

    >>> from seedproof.errors import OptionError
    >>> error = OptionError(
    ...     "The store has no arm {arm!r}. Known: {known}.", arm="x", known=["ema"]
    ... )
    >>> str(error)
    "The store has no arm 'x'. Known: ema."
    >>> error.code, error.fields["arm"]
    ('SP115', 'x')
    """

    code: ClassVar[str] = "SP000"

    def __init__(self, template: str = "", /, **fields: object) -> None:
        super().__init__(template)
        self.template = template
        self.fields = fields

    def replace(self, **fields: object) -> Self:
        """Return the same error with other values of some fields."""
        return type(self)(self.template, **(self.fields | fields))

    def __str__(self) -> str:
        # Names of files and classes may contain line ends and control codes.
        return printable(render(self.template, self.fields))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class InputError(SeedproofError, ValueError):
    """The input cannot be measured."""

    code = "SP100"


class NotFoundError(InputError, FileNotFoundError):
    """No such file, folder or store."""

    code = "SP101"


class UnreadableError(InputError):
    """A file is damaged, or does not have the format of its extension."""

    code = "SP102"


class ColumnError(InputError, LookupError):
    """A column is missing, duplicated or unknown."""

    code = "SP103"


class EmptyInputError(InputError):
    """There are no rows."""

    code = "SP104"


class TooFewRunsError(InputError):
    """A flip needs two runs to disagree."""

    code = "SP105"


class DuplicateExampleError(InputError):
    """A run contains the same example twice."""

    code = "SP106"


class MissingExampleError(InputError):
    """Runs contain different examples."""

    code = "SP107"


class LabelConflictError(InputError):
    """Runs have different labels for an example."""

    code = "SP108"


class UnknownLabelError(InputError):
    """A label is not one of the classes."""

    code = "SP109"


class ProbabilityError(InputError):
    """A row of probabilities is not a distribution."""

    code = "SP110"


class ShapeError(InputError):
    """The shapes of arrays do not match."""

    code = "SP111"


class DtypeError(InputError, TypeError):
    """Values have the wrong type."""

    code = "SP112"


class ClassesError(InputError):
    """Too few or too many classes."""

    code = "SP113"


class MissingValueError(InputError):
    """A run, an id, a prediction or a probability is empty."""

    code = "SP114"


class OptionError(InputError):
    """An argument or option has a value that is not allowed."""

    code = "SP115"


class WeightError(InputError):
    """Runs have different weights for an example, or a weight is not a number from 0 on."""

    code = "SP116"


class StoreError(SeedproofError):
    """A store on disk cannot be used."""

    code = "SP200"


class DamagedStoreError(StoreError, ValueError):
    """The data on disk differ from what was committed."""

    code = "SP201"


class SchemaVersionError(StoreError, ValueError):
    """The store was written by a newer seedproof."""

    code = "SP202"


class RunExistsError(StoreError, FileExistsError):
    """The run is already committed; records are never overwritten."""

    code = "SP203"


class LockError(StoreError):
    """A store cannot be locked: its filesystem has no locks, or another process does not end."""

    code = "SP204"


class UnknownNameError(SeedproofError, LookupError):
    """There is no metric, check, chart or engine of that name."""

    code = "SP301"


class MissingExtraError(SeedproofError, ImportError):
    """An optional dependency is not installed."""

    code = "SP401"


class RunError(SeedproofError, RuntimeError):
    """A run cannot start or continue."""

    code = "SP500"


class StudyChangedError(RunError):
    """The store contains a study with other settings."""

    code = "SP501"


class CodeChangedError(RunError):
    """Finished runs of the study were made by other code."""

    code = "SP502"


class TaskError(RunError):
    """A task in another process failed."""

    code = "SP503"


class TargetError(RunError):
    """The training target cannot be found or called."""

    code = "SP504"


class MissingAverageError(RunError):
    """An optimizer has taken steps, but the average of its weights was not saved with it."""

    code = "SP505"


class PlatformError(RunError):
    """The operating system lacks a call that an engine needs."""

    code = "SP506"


class EnvironmentChangedError(SeedproofError, ValueError):
    """Records that are compared were made in different environments."""

    code = "SP601"
