#pragma once

// Which kind of refusal a status of ArtifactService is, as its details: what servers say and their callers look for.
namespace winnow {

// Of PutArtifact: a blob is missing, rather than that the caller is fenced.
inline constexpr char kMissingBlob[] = "winnow.v1.MissingBlob";
// Of GetArtifact: it is not there yet, and a worker is asked for it.
inline constexpr char kModelComes[] = "winnow.v1.ModelComes";

}  // namespace winnow
