"""What a person opens in a browser: servers of others, started on what a study has written. Nothing imports this.

ui          MLflow's, on the last study      dashboard   Optuna's, on the last run
serving     a server's life                    optuna_server   the dashboard's process
"""
