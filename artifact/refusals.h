#pragma once

// Details that distinguish the refusals in statuses of ArtifactService: servers set them, callers check them.
namespace winnow {

// PutArtifact: a blob is missing; without it the caller is fenced.
inline constexpr char kMissingBlob[] = "winnow.v1.MissingBlob";
// GetArtifact: not available yet, but requested from a worker.
inline constexpr char kModelComes[] = "winnow.v1.ModelComes";
// PutBlob and GetBlob, UNAVAILABLE: the server answers, but its artifacts are away.
inline constexpr char kArtifactsAway[] = "winnow.v1.ArtifactsAway";

}  // namespace winnow
