#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/gpus.h"
#include "server/grpc/auth.h"
#include "server/grpc/tls.h"
#include "server/host/blobs/open_place.h"
#include "server/oidc/settings.h"

namespace CLI {
class App;
}

namespace winnow {

// The settings of winnow-server, from its command line and its configuration file.
struct ServerFlags {
  std::string db = "winnow.db";
  std::string listen = "127.0.0.1:7070";
  std::string advertise;  // "": of listen
  int local_workers = 1;
  int slots = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string gpu_text;  // "": those that are found
  std::vector<GpuDevice> gpus;
  std::string gpu_health_command;
  std::string run_as;
  int warm_trainers = -1;
  std::vector<std::string> declared;
  std::string pools_file;
  std::string webhooks_file;
  double lease_seconds = 15;
  std::string state_dir;
  std::string port_file;
  std::string http;  // "": the default address, if it is free
  std::string http_port_file;
  OidcSettings oidc;  // own_url: of --http-url
  std::string sagemaker = "off";
  std::string sagemaker_port_file;
  std::string sagemaker_keys;    // "": in the state directory
  std::string sagemaker_images;  // "": only those that are known without a file
  std::string sagemaker_url;     // "": of the address
  PlaceSettings artifacts;
  double artifact_quota_gib = 20;
  std::vector<std::string> read_dirs;
  std::string secrets_dir;
  bool accept_log_damage = false;
  bool accept_missing_artifacts = false;
  bool check = false;
  std::string restore;
  std::string copy_to;
  std::string copy_artifacts;
  std::vector<std::string> archive;  // ids of jobs
  bool read_only = false;
  TlsFiles tls;
  std::string leader_ca;  // "": the system's
  bool require_tokens = false;
  std::string rank_tls = "auto";
  double rate_limit = AuthOptions().calls_per_second;
  int audit_days = 400;
  int keep_jobs_days = 0;
  int64_t keep_jobs_number = 0;
  double keep_jobs_gib = 0;
  bool preemption = false;
  double fair_share_days = 7;
  std::string log_level = "info";
};

// Adds the flags, which are read into `flags`, to the command line. REQUIRES: `flags` outlives `app`.
void Declare(CLI::App& app, ServerFlags& flags);

// Checks what --archive and --read-only go with, among the flags that were given. Returns the error, or "".
std::string CheckTogether(const CLI::App& app, const ServerFlags& flags);

std::string StateDir(const ServerFlags& flags);
// Where artifacts are kept. Null: none are.
absl::StatusOr<std::unique_ptr<BlobPlace>> OpenPlaceOfArtifacts(const ServerFlags& flags);

}  // namespace winnow
