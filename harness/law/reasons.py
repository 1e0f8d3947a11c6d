"""Sentences that explain the reasons of a verdict on the law."""

REASONS = {
    "too_few_steps": "fewer than 16 points, or equivalent to fewer than 7 independent points",
    "wrong_sign": "reward falls as entropy falls: a is below 0",
    "no_relation": "exp(H) moved the reward by less than 1.5 times the noise of a row, and the "
    "slope is shown to be below twice that noise per unit of exp(H)",
    "identification_range": "the interval of a contains 0: H moves too little or in too few points",
    "law_break": "after some step the reward deviates from what the law predicts from H",
    "misfit": "the residuals of the law depend on the step, jump at a step, or depend on an "
    "earlier H, or the reward does not follow the bends of H",
    "rival_better": "another curve fits the same points better, by more than 10 AICc",
    "reward_falls_while_entropy_falls": "reward rises and then falls, and no rise of H explains it",
    "entropy_rises": "H ends well above its lowest",
    "reward_died": "reward falls to its lowest level and stays there to the end",
    "stages": "the users changed during training: one law per stage, see `stages`",
    "mixed": "the users changed from step to step during training: one law over all of them",
    "intervened": "a remedy acts on entropy; the law is not claimed there",
    "not_validated_out_of_time": "fitted on the first part, the law predicts the rest no better "
    "than the last value",
    "invalid_users": "the users are not shown to recognise kindness and to prefer it to cruelty, "
    "so R is no reward for empathy",
    "noise_driven": "a null control, without any signal, loses more than half as much of H",
}
