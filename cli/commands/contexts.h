#pragma once

#include <string>

#include "cli/session/session.h"

// `winnow context` and `winnow config`: servers kept under names, and what is in force.
namespace winnow::cli {

struct AddContextOptions {
  std::string name;
  EndpointFlags endpoint;  // as on the command line
  std::string http;
  bool token_from_input = false;  // the token is the first line of standard input
  bool force = false;             // replaces a context of this name
};
// Keeps a server and its credentials. The first context is the current one.
Exit AddContext(Session& session, const AddContextOptions& options);
Exit UseContext(Session& session, const std::string& name);
Exit RemoveContext(Session& session, const std::string& name);
Exit ListContexts(Session& session);
// Shows one context without its token; "": the current one.
Exit ShowContext(Session& session, const std::string& name);

// Shows where the server and the credentials of commands are from. The token is not shown.
Exit ShowConfig(Session& session);

// Shows the settings of winnow-server or winnow-worker ("server", "worker") under `file` ("": none): asks the
// program that is installed beside this one.
Exit ShowProgramConfig(Session& session, const std::string& program, const std::string& file);

}  // namespace winnow::cli
