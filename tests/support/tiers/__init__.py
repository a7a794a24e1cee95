"""Runs the test tiers that this machine can run, and says what it left out and why.

`python -m tiers` is what `make test` calls. It uses the standard library only and starts pytest
once for each tier; the tiers that need a cluster share one, started and removed here.

    plan       which tiers there are, and which of them this machine can run (pure)
    machine    the facts about this machine that the plan needs
    processes  child processes that are always ended, also when this one is interrupted
    cluster    the shared local cluster
    pytests    one tier: pytest's command line and the counts from its report
    report     the closing table and the verdict (pure)
    cli        arguments, and the order of it all
"""
