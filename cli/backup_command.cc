#include "cli/commands.h"
#include "cli/validators.h"

namespace winnow::cli {

void Commands::DefineBackup() {
  CLI::App* backup =
      Add("backup", "Save a copy of the server's database while the server runs", Formats::kTextJson,
          [this](Session& session) { return Backup(session, flags_.backup); });
  backup->add_option("FILE", flags_.backup.file, "where to save it; written whole or not at all")
      ->required()
      ->check(NotEmpty(4096))
      ->option_text(" ");
  backup->add_flag("--force", flags_.backup.force, "replace FILE if it exists");
}

}  // namespace winnow::cli
