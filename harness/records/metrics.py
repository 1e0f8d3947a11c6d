"""The metrics of a run: every column of metrics.jsonl, in order, with its meaning."""

from __future__ import annotations

from harness.config.run import LEVELS, MAX_TURNS, STRATEGIES, TEMPERAMENTS
from harness.config.simulator import LANGUAGE_RULES, SIMULATOR_FAULTS

REPEATED = (4, 16)
"""Values of k in the columns best_at_k and success_*_k: conversations with one user."""
LEAST_WORTH = 0.05
"""Smallest gain of the optimum over the best deaf schedule for which listening_share is reported;
below it the share would be noise."""
EVALUATED = {
    "reward": "final emotion / 100 on held-out users",
    "reward_se": "its standard error, users being the replicates",
    "failed": "held-out conversations without a final emotion",
    "listening": "I(strategy; hidden intention | reply number), nats,",
    "deaf_reward": "the reward of the policy that hears another user's words",
    "listening_share": "share of what listening is worth, (R - deaf) / (optimum - deaf),",
    "within_sd": "standard deviation of conversations with one user",
    "between_sd": "standard deviation of the users' expected outcomes",
    **{f"best_at_{k}": f"expected best of {k} conversations with one user" for k in REPEATED},
    **{f"success_any_{k}": f"chance that one of {k} with one user succeeds" for k in REPEATED},
    **{f"success_all_{k}": f"chance that all {k} with one user succeed" for k in REPEATED},
}
"""Columns of an evaluation, at each level: `eval/COLUMN` and `eval/LEVEL/COLUMN`."""
MEASURED = {
    "entropy": "policy entropy H of batch N, nats per token (per act for tabular)",
    "entropy_se": "its standard error, clustered by group",
    "reward": "mean reward of batch N",
    "reward_std": "mean over groups of the standard deviation of the reward",
    "frac_reward_zero_std": "share of groups whose rewards are all equal",
    "kl": "mean log-ratio of the policy against its start, on its own tokens",
    "clip_ratio/low_mean": "share of tokens clipped from below",
    "clip_ratio/high_mean": "share of tokens clipped from above",
    "clip_ratio/region_mean": "share of tokens clipped",
    "sampling/sampling_logp_difference/mean": "|log-probability by the engine - by the trainer|",
    "sampling/sampling_logp_difference/max": "the largest of these",
    **{
        f"sampling/importance_sampling_ratio/{part}": f"{part} weight of a token in the loss (vLLM)"
        for part in ("min", "mean", "max")
    },
    "completions/mean_length": "policy tokens (acts) a conversation",
    "completions/max_length": "most policy tokens in one conversation",
    "completions/clipped_ratio": "share of replies cut by the token limit",
    "grad_norm": "norm of the gradient before clipping, of the step's last update",
    "entropy/t1": "H at temperature 1",
    "entropy/thinking": "H over what a policy thinks before it speaks; where it does",
    "entropy/reply": "H over what it then says",
    "entropy/planning": "H over the words of a reply that open a strategy",
    "entropy/execution": "H over the rest of it",
    "entropy/mean_of_means": "mean over conversations of their mean H (the paper's average)",
    **{f"entropy/turn_{n}": f"H of the policy's reply number {n}" for n in range(1, 21)},
    "entropy/top20_share": "share of all entropy held by the 20% of tokens with most",
    "entropy/probe": "H on a frozen set of prefixes, the same for every difficulty and seed",
    "ledger/signal": "change of entropy/probe since the last evaluation by the signal",
    "ledger/noise": "the same by the noise of the batches' gradients",
    "ledger/remedy": "the same by remedies",
    "ledger/states": "change of H of the batch since then because other states were visited",
    "ledger/total": "change of entropy/probe since then",
    **{
        f"ledger/{part}_se": "its standard error"
        for part in ("signal", "noise", "remedy", "states", "total")
    },
    "ledger/momentum": "change of entropy/probe by moves that Adam's momentum held back or made up",
    "ledger/closure": "ledger/total less signal, noise, remedy and momentum",
    "cov/mean": "covariance of log-probability and advantage over tokens",
    "emotion/start": "mean emotion at the opening",
    "emotion/final": "mean emotion at the end",
    "emotion/delta": "mean final minus start",
    "emotion/success_rate": "share of conversations that reach emotion 100",
    "emotion/failure_rate": "share of conversations that the user left",
    **{
        f"eval/{level_prefix}{key}": f"{meaning} {description}"
        for level_prefix, description in (
            ("", "at the run's own difficulty"),
            *((f"{level}/", f"at the level {level}") for level in LEVELS),
        )
        for key, meaning in EVALUATED.items()
    },
    **{
        f"eval/listening/turn_{n}": f"eval/listening of the policy's reply number {n} alone"
        for n in range(1, MAX_TURNS + 1)
    },
    "eval/words_listening": "I(words; conversation) of replies to frozen prefixes, nats",
    "eval/words_listening/thinking": "its part by what a policy thinks before it speaks",
    "eval/words_listening/planning": "its part by the words that open a strategy",
    "eval/words_listening/execution": "its part by the other words",
    "eval/words_retrieval": "share of these replies that fit their own prefix best",
    "adapt/before": "mean final emotion / 100 of held-out users of eval.adapts_to",
    "adapt/after": "the same after one step on training users of that temperament",
    "turns/mean": "replies by the policy a conversation",
    **{f"strategy/{s}": f"share of recognised strategies that are {s}" for s in STRATEGIES},
    "strategy/entropy": "entropy of those shares, nats",
    **{
        f"strategy/entropy_by_temperament/{t}": f"the same in conversations with {t} users"
        for t in TEMPERAMENTS
    },
    "grounding/per_100_turns": "questions, restatements, mere acknowledgements, per 100 replies",
    "grounding/question_value": "facts told after a question less those after other replies",
    "alliance/bond": "trust at the end over the most there is; of users who keep trust",
    "alliance/goal": "share of replies that serve what the user came for",
    "alliance/task": "share of replies that work on what the user wants worked on",
    "alliance/mean": "mean of these, of those that there are",
    "solving/after_feeling": "share of replies to a told feeling that suggest or inform",
    "solving/where_wanted": "the same of replies to users who came for work on the problem",
    "solving/where_unwanted": "the same of replies to users who came for comfort",
    "text/start_nll": "mean negative log-likelihood a token under the frozen start policy",
    "text/start_z": "mean over replies of their surprise beyond the start policy's own, in sd",
    "text/flagged": "share of replies the user took for not being language",
    **{f"text/flagged/{rule}": f"the same by the rule {rule}" for rule in LANGUAGE_RULES},
    "text/grammatical": "share of replies the phrase grammar covers whole",
    "groups/drawn": "groups drawn to fill the batch, where those without variance are drawn again",
    "groups/below_floor": "share of groups whose standard deviation is below the algorithm's floor",
    "refined/groups": "share of groups whose worst conversation was spoken again (critique_grpo)",
    "refined/replies": "replies that this took beyond the batch's own",
    "refined/gain": "mean reward of these conversations less that of those they replace",
    "refined/failed": "conversations whose user was lost only when they were spoken again",
    "set/reward": "mean reward of the batch's sets (algorithm=vpo)",
    "set/width": "the same less the mean of their conversations, weighed alike",
    "kept/conversations": "distinct conversations kept in all rounds (expert_iteration)",
    "kept/sequences": "distinct sequences of strategies among them",
    "value/mean": "mean reward that the critic expected of the batch's replies",
    "value/loss": "half the mean squared error of these expectations",
    "value/explained_variance": "share of the rewards' variance they explain; 0 for a constant",
    "distinct_2": "distinct word pairs / word pairs over the batch's replies",
    **{f"curriculum/level_share/{n}": f"share of conversations at the level {n}" for n in LEVELS},
    "curriculum/difficulty": "position of an adaptive curriculum, 0 (easy) to 100 (hard)",
    "curriculum/replies_before": "mean replies before the policy takes over (curriculum=reverse)",
    "remedy/acted": "share of tokens the remedy acted upon",
    "remedy/chosen": "share of tokens it picked out, where it picks some",
    "entropy_coef": "what H is multiplied by in the loss, where a remedy adds it",
    "sim/failed": "conversations without a reward because the simulator failed",
    **{f"sim/failed/{kind}": f"of these, by {kind}" for kind in SIMULATOR_FAULTS},
}
"""Every key of a row after `step`, in order, with its meaning. Unmeasured values are null."""
