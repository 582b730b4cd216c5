#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "server/host/pools/kubernetes/api_client.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temp_folder.h"

namespace winnow {

// A client of a scripted API server: its kubeconfig names the server, and a file with a token.
struct ApiPlay {
  explicit ApiPlay(ScriptedServer::Handler handler)
      : server(std::make_unique<ScriptedServer>(std::move(handler))) {
    PutToken("first");
    std::ofstream(folder / "config")
        << "clusters: [{name: c, cluster: {server: '" << server->url() << "'}}]\n"
        << "users: [{name: me, user: {tokenFile: token}}]\n"
        << "contexts: [{name: x, context: {cluster: c, user: me, namespace: n}}]\ncurrent-context: x\n";
  }
  void PutToken(const std::string& token) const { std::ofstream(folder / "token") << token << "\n"; }
  KubernetesAccessSource source() const { return {.kubeconfig = folder / "config"}; }

  TempFolder folder;
  std::unique_ptr<ScriptedServer> server;
};

inline std::string ApiStatus(int code, const std::string& reason, const std::string& message) {
  return nlohmann::json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}}.dump();
}

}  // namespace winnow
