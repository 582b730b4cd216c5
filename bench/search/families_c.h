#pragma once

#include <stddef.h>
#include <stdint.h>

// Families for programs in other languages. Coordinates are as in Family: one in [0, 1] per parameter.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct winnow_family winnow_family;

// Null on error, with the reason in `error` (truncated to error_size, ends with 0). Close it with
// winnow_family_close.
winnow_family* winnow_family_open(const char* name, char* error, size_t error_size);
void winnow_family_close(winnow_family* family);

// Names of the closed-form families, separated by commas.
const char* winnow_family_names(void);

int winnow_family_max_resource(const winnow_family* family);
double winnow_family_optimum(const winnow_family* family);

int winnow_family_parameters(const winnow_family* family);
const char* winnow_family_parameter_name(const winnow_family* family, int parameter);
// "integer", "continuous" or "categorical" (numbers 0..max).
const char* winnow_family_parameter_kind(const winnow_family* family, int parameter);
double winnow_family_parameter_min(const winnow_family* family, int parameter);
double winnow_family_parameter_max(const winnow_family* family, int parameter);
int winnow_family_parameter_log(const winnow_family* family, int parameter);  // 1: log scaling, 0: linear

// Sets `unit` to the coordinates of a configuration: `native` has the hyperparameters' values, categories as
// their numbers. REQUIRES: values within their ranges.
void winnow_family_to_unit(const winnow_family* family, const double* native, double* unit);

double winnow_family_value(const winnow_family* family, const double* unit, int level);
double winnow_family_observed(const winnow_family* family, const double* unit, int level, uint64_t seed);

// Fills `values` and `observed`, max_resource numbers each: levels 1..R.
void winnow_family_curve(const winnow_family* family, const double* unit, uint64_t seed, double* values,
                         double* observed);

#ifdef __cplusplus
}
#endif
