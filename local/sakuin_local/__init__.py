"""The whole of Sakuin on one machine: the deployed template and everything it talks to."""
