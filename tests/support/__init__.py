"""What tests share: scripted endpoints and models, small records, slow references."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
