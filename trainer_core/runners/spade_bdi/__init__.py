"""SPADE-BDI as a runner: an agent whose AgentSpeak plans press buttons and use trained policies ("skills")."""
