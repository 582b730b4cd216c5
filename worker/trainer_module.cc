#include "worker/trainer_module.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "artifact/files.h"
#include "artifact/folder.h"
#include "trainer_module_text.h"

namespace winnow {

absl::StatusOr<std::filesystem::path> WriteTrainerModule(const std::filesystem::path& work) {
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Make({work, "python"}, 0755);
  if (!folder.ok()) return folder.status();
  if (absl::Status status = folder->SetMode(0755); !status.ok()) return status;
  const std::filesystem::path name = work / "python" / "winnow_trainer.py";
  const std::filesystem::path draft = work / "python" / ".winnow_trainer.part";
  absl::StatusOr<OpenFile> file = OpenFile::Open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (!file.ok()) return file.status();
  absl::Status status = file->Write(kTrainerModuleText);
  if (!status.ok()) return status;
  if (fchmod(file->descriptor(), 0644) != 0 || rename(draft.c_str(), name.c_str()) != 0)
    return FileError(name, "cannot be written", errno);
  return work / "python";
}

}  // namespace winnow
