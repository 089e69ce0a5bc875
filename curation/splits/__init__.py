"""The frozen split as a file, its versions, errata and partition; knows no store."""
