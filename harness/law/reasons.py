"""Sentences that explain the reasons of a verdict on the law."""

REASONS = {
    "too_few_steps": "fewer than 16 points, or worth fewer than 7 independent ones",
    "wrong_sign": "reward falls as entropy falls: a is below 0",
    "no_relation": "exp(H) moved the reward by less than 1.5 times the noise of a row, and by less "
    "than twice that noise for each unit of it, if at all",
    "identification_range": "the interval of a holds 0: H moves too little, or in too few points",
    "law_break": "after some step the reward leaves what the law predicts from H",
    "misfit": "beside the law the reward moves with the step, leaps at one, follows an earlier H, "
    "or does not follow the bends of H",
    "rival_better": "another curve fits the same points better, by more than 10 AICc",
    "reward_falls_while_entropy_falls": "reward rises and then falls, and no rise of H explains it",
    "entropy_rises": "H ends well above its lowest",
    "reward_died": "reward falls to the lowest level it ever has and stays there to the end",
    "stages": "the users changed while it trained: one law per stage, see `stages`",
    "mixed": "the users changed from step to step as it trained: one law over all of them",
    "intervened": "a remedy acts on entropy; the law is not claimed there",
    "not_validated_out_of_time": "fitted on the first part, it predicts the rest no better "
    "than the last value",
    "invalid_users": "its users are not shown to prefer kindness to cruelty and to hear it, so R "
    "is no reward for empathy",
    "noise_driven": "a null control, without any signal, loses more than half as much of H",
}
