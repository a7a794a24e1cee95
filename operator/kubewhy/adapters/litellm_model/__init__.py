"""Language models of any provider, through LiteLLM.

LiteLLM takes seconds and hundreds of megabytes to import, so it is imported on first use, in a thread of
its own with an event loop of its own (`runtime`). The other modules turn our values into its and back:
`convert` messages and replies, `faults` exceptions, `metering` tokens and cost, `retry` pauses. No other
part of kubewhy imports LiteLLM, and none of its exceptions leaves this package.
"""
