"""Methods that train weights or adapters on the edit."""
