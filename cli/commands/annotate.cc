#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

#include "cli/commands/actions.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

// What the job or the trial has now, with the job's id for "latest".
absl::StatusOr<v1::Annotation> PresentAnnotation(Session& session, const std::string& job, int64_t trial) {
  if (trial == 0) {
    auto described = session.client().Describe(job);
    if (!described.ok()) return described.status();
    return described->annotation();
  }
  auto described = session.client().DescribeTrial(job, trial);
  if (!described.ok()) return described.status();
  return described->trial().annotation();
}

}  // namespace

std::string TagsText(const v1::Annotation& annotation) {
  std::string text;
  for (const std::string& tag : annotation.tags()) text += (text.empty() ? "" : ", ") + Clean(tag);
  return text;
}

std::string AnnotationLines(const Terminal& out, const v1::Annotation& annotation) {
  std::string text;
  if (annotation.tags_size() > 0) text += out.Labelled("tags", 10, TagsText(annotation));
  size_t begin = 0;
  while (begin < annotation.note().size()) {
    const size_t end = std::min(annotation.note().find('\n', begin), annotation.note().size());
    text += out.Labelled(begin == 0 ? "note" : "", 10, Clean(annotation.note().substr(begin, end - begin)));
    begin = end + 1;
  }
  return text;
}

Exit Annotate(Session& session, const AnnotateOptions& options) {
  const auto id = session.client().JobId(options.job);
  if (!id.ok()) return id.status();
  absl::StatusOr<v1::Annotation> annotation = PresentAnnotation(session, *id, options.trial);
  if (!annotation.ok()) return annotation.status();
  v1::AnnotateResponse response;
  if (options.tags.empty() && options.untags.empty() && !options.note) {
    *response.mutable_annotation() = *annotation;
  } else {
    std::set<std::string> tags(annotation->tags().begin(), annotation->tags().end());
    tags.insert(options.tags.begin(), options.tags.end());
    for (const std::string& tag : options.untags) tags.erase(tag);
    v1::AnnotateRequest request;
    request.set_job_id(*id);
    request.set_trial(options.trial);
    request.mutable_tags()->Assign(tags.begin(), tags.end());
    request.set_note(options.note.value_or(annotation->note()));
    absl::StatusOr<v1::AnnotateResponse> written = session.client().Annotate(request);
    if (!written.ok()) return written.status();
    response = *std::move(written);
  }
  if (PrintsJson(session, response)) return kSuccess;
  const std::string what = options.trial > 0 ? fmt::format("{} trial {}", *id, options.trial) : *id;
  const std::string lines = AnnotationLines(session.out, response.annotation());
  session.out.Print(lines.empty() ? what + " has no tags and no note\n"
                                  : session.out.Paint(Style::kBold, what) + "\n" + lines);
  return kSuccess;
}

}  // namespace winnow::cli
