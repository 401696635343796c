"""Names in code of what is compared, and what people read in their place.

No title has a comma: several stand in one sentence.
"""

CONTROL = "none"
DATASETS = {"clinc150": "CLINC150", "massive": "MASSIVE"}
TRACKS = {"head": "head", "finetune": "fine-tuned"}
ARMS = {
    "none": "control",
    "ensemble-shared": "ensemble of 200 (shared)",
    "l2": "L2",
    "swa": "SWA",
    "label-smoothing-0.5": "label smoothing 0.5",
    "label-smoothing-0.1": "label smoothing 0.1",
    "tgtss-shared": "TGTSS (shared teacher)",
    "tgtss": "TGTSS (fresh teacher)",
    "tgtss-every-10": "TGTSS every 10 steps (fresh)",
    "tgtss-every-10-shared": "TGTSS every 10 steps (shared)",
    "tgtss-free": "TGTSS from batches (fresh)",
    "tgtss-free-shared": "TGTSS from batches (shared)",
    "tgtss-power-1": "TGTSS without exponent (fresh)",
    "deployed-shared": "distilled from a deployed model",
    "ensemble-10": "ensemble of 10 (fresh)",
    "knn": "k-NN label smoothing",
    "codistillation": "co-distillation",
    "ema": "EMA",
    "aswa": "ASWA",
    "naswa": "NASWA",
    "switch-ema": "Switch-EMA",
    "lawa": "LAWA",
    "decay": "decay",
    "wide": "width 1,024",
    "zero-last": "zero last layer",
    "long": "twice the epochs + decay",
    "fixed-init": "fixed init",
    "fixed-init-decay": "fixed init + decay",
    "linear": "linear head",
    "wide-decay-zero": "width 1,024 + decay + zero last",
    "wide-decay-zero-smooth": "width 1,024 + decay + zero last + smoothing",
    "wider-decay-zero-smooth": "width 4,096 + decay + zero last + smoothing",
    "heads-4": "4 heads",
    "heads-16": "16 heads",
    "heads-16-decay-zero-smooth": "16 heads + decay + zero last + smoothing",
    "wide-decay-zero-ema": "width 1,024 + decay + zero last + EMA",
    "wide-decay-zero-tgtss-every-10": "width 1,024 + decay + zero last + TGTSS (fresh)",
    "wide-decay-zero-smooth-heads-4": "4 heads of width 1,024 + decay + zero last + smoothing",
}
GROUPS = {
    "paper": "the paper's methods",
    "cheaper": "the same, cheaper or taught otherwise",
    "averages": "averages of weights",
    "levers": "plain levers",
    "combined": "levers with the rest",
    "redrawn": "what runs share, drawn again",
}
# What all runs of an arm have in common, so that less is left to their seeds.
SHARED = {
    "teacher": "the teacher",
    "init": "the first weights",
    "both": "teacher and first weights",
}
DRAW = "-draw-"


def title_of(arm: str) -> str:
    """What people read in place of an arm's name.

    Args:
        arm: Name in code, such as `tgtss-shared-draw-2`.

    Returns:
        Such as "TGTSS (shared teacher) draw 2"; an unknown name as it is.
    """
    name, _, draw = arm.partition(DRAW)
    title = ARMS.get(name, name)
    return f"{title} draw {draw}" if draw else title
