// `faultline serve`: the controller. This file is its flags; serve_command.cc wires the ports.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/query_command.h"
#include "controller/controller.h"

namespace faultline {

struct ServeOptions {
  std::string config;
  std::string store = default_store_file;
  std::string catalog;
  std::string listen = "127.0.0.1:9176";
  std::string status_listen = "127.0.0.1:9177";
  std::string tls_cert, tls_key, tls_ca;
  bool plain = false;
  std::string mode = "observe";
  std::string scheduler = "slurm";
  std::string slurm_conf;
  std::string slurm_bin;
  std::string spare_reservation;
  std::string spare_feature;
  std::string local_state;
  std::vector<std::string> scheduler_log_hosts;
  std::vector<std::string> test_command;
  bool test_after_drain = false;
  bool return_after_test = false;
  std::vector<std::string>
      webhooks;  // [FORMAT=]URL, FORMAT generic (default), slack or alertmanager
  std::string webhook_secret_file;
  int keep_events_days = 90;
  int keep_records_days = 400;
  int poll_ms = 1000;
  std::string log_level = "info";
};

/// Returns the subcommand, which serve_main needs for --config.
CLI::App* add_serve_command(CLI::App& app, ServeOptions& options);
int serve_main(CLI::App& command, ServeOptions& options);

}  // namespace faultline
