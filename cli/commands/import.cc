#include "cli/commands/import.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/status_text.h"
#include "cli/commands/job_source.h"
#include "cli/imports/imported_job.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

using imports::ImportedJob;
using imports::OrderedJson;

constexpr size_t kMostImportBytes = 64 << 20;

absl::StatusOr<OrderedJson> ReadImported(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream.is_open())
    return absl::NotFoundError(fmt::format("{}: cannot be read: {}", Clean(path), std::strerror(errno)));
  std::string text(kMostImportBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad())  // a folder, for one
    return absl::InvalidArgumentError(
        fmt::format("{}: cannot be read: {}", Clean(path), std::strerror(errno)));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > kMostImportBytes)
    return absl::InvalidArgumentError(
        fmt::format("{}: is larger than {} MiB", Clean(path), kMostImportBytes >> 20));
  absl::StatusOr<OrderedJson> json = imports::ReadYaml(text);
  if (!json.ok())
    return absl::InvalidArgumentError(fmt::format("{}: {}", Clean(path), Clean(MessageOf(json.status()))));
  return json;
}

absl::StatusOr<ImportedJob> ImportOf(const ImportOptions& options) {
  const absl::StatusOr<OrderedJson> given = ReadImported(options.file);
  if (!given.ok()) return given.status();
  absl::StatusOr<ImportedJob> imported = absl::UnknownError("");
  if (options.program == "sagemaker") {
    OrderedJson training_jobs = OrderedJson::object();
    if (!options.training_jobs.empty()) {
      absl::StatusOr<OrderedJson> read = ReadImported(options.training_jobs);
      if (!read.ok()) return read.status();
      training_jobs = *std::move(read);
    }
    imported = imports::ImportSagemakerJob(*given, training_jobs, options.definition);
  } else {
    imported = options.program == "katib"   ? imports::ImportKatibExperiment(*given)
               : options.program == "wandb" ? imports::ImportWandbSweep(*given)
               : options.program == "ray"   ? imports::ImportRaySpace(*given)
                                            : imports::ImportOptunaSpace(*given);
  }
  if (!imported.ok())
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", Clean(options.file), MessageOf(imported.status())));
  const std::string given_name = imported->job["name"].get<std::string>();
  const std::string name = JobNameFrom(given_name);
  if (name != given_name) {
    imported->job["name"] = name;
    if (!given_name.empty()) imported->LeaveOut("the name " + given_name, "it becomes " + name);
  }
  return imported;
}

}  // namespace

Exit Import(Session& session, const ImportOptions& options) {
  absl::StatusOr<ImportedJob> imported = ImportOf(options);
  if (!imported.ok()) return imported.status();
  if (!imported->earlier_results.empty()) {
    const std::string table = options.results.empty() ? options.training_jobs + ".csv" : options.results;
    std::ofstream file(table, std::ios::trunc);
    file << imported->earlier_results;
    file.close();
    if (!file.good())
      return absl::FailedPreconditionError(
          fmt::format("--results: cannot write {}: {}", Clean(table), std::strerror(errno)));
    imported->job["warm_start"]["csv_files"] = {table};
  }
  if (session.output == Output::kJson) {
    const OrderedJson answer = {{"job", imported->job}, {"left_out", imported->left_out}};
    session.out.Print(answer.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
    return kSuccess;
  }
  session.out.Print(imported->job.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
  for (const std::string& each : imported->left_out)
    session.err.Print("not taken over: " + Clean(each) + "\n");
  return kSuccess;
}

}  // namespace winnow::cli
