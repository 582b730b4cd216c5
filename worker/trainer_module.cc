#include "worker/trainer_module.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "artifact/files.h"
#include "artifact/folder.h"
#include "trainer_module_text.h"

namespace winnow {

namespace {

absl::Status WriteModule(const std::filesystem::path& folder, const std::string& module,
                         std::string_view text) {
  const std::filesystem::path name = folder / (module + ".py");
  const std::filesystem::path draft = folder / ("." + module + ".part");
  absl::StatusOr<OpenFile> file = OpenFile::Open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (!file.ok()) return file.status();
  absl::Status status = file->Write(text);
  if (!status.ok()) return status;
  if (fchmod(file->descriptor(), 0644) != 0 || rename(draft.c_str(), name.c_str()) != 0)
    return FileError(name, "cannot be written", errno);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::filesystem::path> WriteTrainerModules(const std::filesystem::path& work) {
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Make({work, "python"}, 0755);
  if (!folder.ok()) return folder.status();
  absl::Status status = folder->SetMode(0755);
  if (status.ok()) status = WriteModule(work / "python", "winnow_trainer", kTrainerModuleText);
  if (status.ok()) status = WriteModule(work / "python", "winnow_sagemaker", kSagemakerModuleText);
  if (status.ok()) status = WriteModule(work / "python", "winnow_buckets", kBucketsModuleText);
  if (!status.ok()) return status;
  return work / "python";
}

}  // namespace winnow
