"""The DAG of configs/airflow, run by a real Airflow with SQLite in an environment of its own."""
