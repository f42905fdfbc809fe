"""SPADE-BDI as a runner: plans in AgentSpeak, buttons as their actions, learned skills below."""
