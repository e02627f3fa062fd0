/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models that ParvaGPU's authors measured on MIG instances of an A100 with 80 GB, with one to three
 * processes under MPS in closed loops (MunQ-Lee/ParvaGPU_SC24@5f3de1e prof_data/, PyTorch of NGC
 * 21.11, TF32). Constants are fitted (slice-fit.h) to tests/golden/measured/measured_multiplex.csv.
 * tests/unit/scenarios/multiplex/slices-test.cc fits them again.
 */
#ifndef SCENARIOS_MULTIPLEX_PARVAGPU_A100_H
#define SCENARIOS_MULTIPLEX_PARVAGPU_A100_H

#include "scenarios/multiplex/slice-fit.h"

#include <string>
#include <vector>

namespace multiplex
{

/// Of the host, for a kernel that PyTorch launches: host / operators of resnet50 (26.6),
/// densenet121 (27.4), inceptionv3 (27.4) and mobilenetv2 (30.7 us). It is that of their host and
/// of PyTorch without CUDA graphs, with gradients recorded (scripts/dl_infer_runtime.py has no
/// no_grad). Other hosts need 5 to 10 us (assumed).
constexpr double kOperatorSeconds = 27e-6;

struct SlicedModel
{
    std::string name;
    std::vector<std::string> others; ///< other spellings
    uint32_t sequence;               ///< tokens; 0: it has none
    uint32_t largestBatch;           ///< measured
    uint32_t rows;                   ///< it is fitted to
    SliceConstants constants;
    // What is known of it without these rows:
    double samplesPerSecond; ///< on another GPU (parvagpu-a100.cc); 0: not known
    double usualWork;        ///< ms x multiprocessors a sample, where that is not known
    double megaParameters;
    double operators; ///< kernels that PyTorch launches
};

const std::vector<SlicedModel>& SlicedModels();

/// By any spelling; what follows " (" does not matter. Null: it was not measured.
const SlicedModel* FindSlicedModel(const std::string& name);

/// What its constants are without measured rows.
UsualConstants UsualOf(const SlicedModel& model);

/// Of the rows, each instance size left out of the fit in turn: what the printed band is from.
extern const ErrorSummary kFittedBand;
/// Of the rows, each batch left out in turn: of batches above those that were measured.
extern const ErrorSummary kBatchBand;
/// Of the rows of models of the zoo, by kernels alone; the host's time is that of the other models.
extern const ErrorSummary kKernelBand;

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_PARVAGPU_A100_H
