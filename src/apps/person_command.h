// `faultline approve|deny|return|repair|silence|unsilence`: what people ask of the controller. On
// the controller's host the store's file permissions are the authority; from elsewhere a
// certificate with the operator role is. Either way it is written down with who asked.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "apps/query_command.h"

namespace faultline {

struct PersonOptions {
  QueryOptions query;
  std::string controller;  // HOST:PORT; empty: through the store on this host
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;
  bool plain = false;
  std::string target;
  std::string length;  // silence: "2h"
  std::string reason;  // silence
  std::string note;    // repair
};

/// Asks a controller over the network; bound to the transport in main.cc.
using RemoteOperate = std::function<Result<PersonAnswer>(const PersonOptions&, RequestKind kind,
                                                         const std::string& target)>;

void add_person_commands(CLI::App& app, PersonOptions& options);
/// -1 if `verb` is none of these.
int person_main(const std::string& verb, const PersonOptions& options, const RemoteOperate& remote);

}  // namespace faultline
