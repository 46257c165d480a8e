"""Real servers for every test that asks for one."""

pytest_plugins = ["jsmemory.testing.pytest_servers"]
