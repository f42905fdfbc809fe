"""SPADE-BDI as a runner: plans in AgentSpeak with buttons as actions, and learned skills."""
