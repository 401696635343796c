"""Names in code of what the paper compares, and what people read in their place."""

BASELINE = "none"
# The paper's two averages. It says that the second is steadier than the first.
PAPER_ARMS = ("aswa", "naswa")
KL, JACCARD, OVERLAP = "explanation_kl", "explanation_jaccard_20", "explanation_overlap"
JACCARD_10 = "explanation_jaccard_10"
DATASETS = {
    "sst": "SST",
    "agnews": "AG News",
    "imdb": "IMDB",
    "snli": "SNLI",
    "adr": "ADR tweets",
    "diabetes": "Diabetes",
    "anemia": "Anemia",
}
ENCODERS = {"cnn": "CNN", "lstm": "LSTM"}
ATTENTIONS = {"additive": "", "dot": ", dot attention"}
ARMS = {
    "none": "none",
    "aswa": "ASWA",
    "naswa": "NASWA",
    "aswa-code": "ASWA as coded",
    "naswa-code": "NASWA as coded",
    "swa": "SWA",
    "ema": "EMA",
    "switch-ema": "Switch-EMA",
    "lawa": "LAWA",
}
METHODS = {"attention": "attention", "gradient": "gradients", "lime": "LIME"}
