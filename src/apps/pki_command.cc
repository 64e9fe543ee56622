#include "apps/pki_command.h"

#include <string_view>

#include "apps/option_values.h"
#include "apps/output.h"
#include "base/clock.h"
#include "base/text.h"

namespace faultline {
namespace {

std::string tls_flags(const IssuedFiles& files) {
  return "--tls-ca " + files.authority + " --tls-cert " + files.certificate + " --tls-key " +
         files.key;
}

std::string next_steps(const IssueRequest& request, const IssuedFiles& files) {
  const std::string copy =
      "  Copy the three files there; the key stays readable by its owner alone.\n";
  switch (request.role) {
    case PeerRole::agent:
      return "On " + request.name + ":\n" + copy + "  faultline agent --node " + request.name +
             " --controller HOST:9176 " + tls_flags(files) + "\n";
    case PeerRole::controller:
      return "On the controller's host, which agents must reach as '" + request.name +
             "' or one of --dns and --ip:\n" + copy + "  faultline serve --listen 0.0.0.0:9176 " +
             tls_flags(files) + "\n";
    case PeerRole::operators:
      return "As " + request.name + ":\n  faultline approve DECISION --controller HOST:9176 " +
             tls_flags(files) + "\n";
  }
  return "";
}

int init(const PkiOptions& options) {
  const auto files =
      init_authority(options.folder, options.authority_days, options.force, SystemClock());
  if (!files) return fail(files.error());
  const std::string issue_line = "  faultline pki issue --dir " + options.folder;
  print("Made an authority in " + options.folder + ". Whoever reads " + files->key +
        " can speak for every node: keep it off the cluster.\nNext:\n" + issue_line +
        " --name CONTROLLER-HOST --role controller\n" + issue_line + " --name NODE\n" + issue_line +
        " --name PERSON --role operator\n");
  return exit_ok;
}

int issue_one(const PkiOptions& options) {
  IssueRequest request = options.request;
  const auto role = parse_enum<PeerRole>(options.role);
  if (!role) {
    return fail({ErrorCode::invalid_argument, "--role is agent, controller or operator"});
  }
  request.role = *role;
  request.force = options.force;
  const auto files = issue(options.folder, request, SystemClock());
  if (!files) return fail(files.error());
  print("Wrote " + files->certificate + " and " + files->key + ", good for " +
        std::to_string(request.days) + " days.\n" + next_steps(request, *files));
  return exit_ok;
}

int show(const PkiOptions& options) {
  const auto info = show_certificate(options.file);
  if (!info) return fail(info.error());
  const Instant now = SystemClock().now();
  std::string_view state = "in force";
  if (now > info->not_after) state = "ENDED";
  if (now < info->not_before) state = "not yet in force";
  print("name       " + info->name + (info->authority ? " (authority)" : "") + "\nnames      " +
        join(info->names, ", ") + "\ngood for   " + join(info->usages, ", ") + "\nfrom       " +
        to_text(info->not_before) + "\nuntil      " + to_text(info->not_after) + " (" +
        std::string(state) + ")\nissuer     " + info->issuer + "\nserial     " + info->serial +
        "\nsha256     " + info->sha256 + "\n");
  return exit_ok;
}

}  // namespace

void add_pki_command(CLI::App& app, PkiOptions& options) {
  CLI::App* pki =
      app.add_subcommand("pki", "Certificates for agents, the controller and operators");
  pki->require_subcommand(1);

  CLI::App* init_command = pki->add_subcommand("init", "Make a certificate authority in a folder");
  init_command->add_option("--days", options.authority_days, "How long it is good for")
      ->capture_default_str()
      ->check(whole_number(1, days_max, authority_days_default));

  CLI::App* issue_command =
      pki->add_subcommand("issue", "Make a key and a certificate for a node, controller or person");
  issue_command
      ->add_option("--name", options.request.name, "The node's name as the scheduler spells it")
      ->required();
  issue_command->add_option("--role", options.role, "agent, controller or operator")
      ->capture_default_str();
  issue_command->add_option("--dns", options.request.dns_names,
                            "A further host name it is reached by");
  issue_command->add_option("--ip", options.request.addresses, "An address it is reached by");
  issue_command->add_option("--days", options.request.days, "How long it is good for")
      ->capture_default_str()
      ->check(whole_number(1, days_max, certificate_days_default));

  CLI::App* show_command = pki->add_subcommand("show", "Say what a certificate is");
  show_command->add_option("FILE", options.file, "Certificate (PEM)")
      ->required()
      ->check(file_path());

  pki->footer("Example:\n  faultline pki init");
  init_command->footer("Example:\n  faultline pki init --dir /etc/faultline/pki");
  issue_command->footer(
      "Examples:\n"
      "  faultline pki issue --name controller --role controller --dns ctl.example.org\n"
      "  faultline pki issue --name n1\n"
      "  faultline pki issue --name ann --role operator\n"
      "\n"
      "A site's own authority can issue them instead. Each certificate needs the name as its one "
      "common name\n"
      "and DNS name, the role as URI:faultline:role:agent (or :controller, :operator; one alone) "
      "among its\n"
      "alternative names, and the usage serverAuth for a controller, clientAuth for the others. "
      "Without a role\n"
      "of ours a certificate is refused: else every host of the site could speak for a node.");
  show_command->footer("Example:\n  faultline pki show /etc/faultline/pki/n1.crt");

  for (CLI::App* command : {init_command, issue_command}) {
    command->add_option("--dir", options.folder, "The authority's folder")
        ->capture_default_str()
        ->check(folder_path());
    command->add_flag("--force", options.force, "Replace files that are there");
  }
  for (CLI::App* command : {init_command, issue_command, show_command}) {
    command->callback([&options, command] { options.verb = command->get_name(); });
  }
}

int pki_main(const PkiOptions& options) {
  if (options.verb == "init") return init(options);
  if (options.verb == "issue") return issue_one(options);
  return show(options);
}

}  // namespace faultline
