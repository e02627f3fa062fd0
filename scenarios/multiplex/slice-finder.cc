/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/slice-finder.h"

#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/multiplex/parvagpu-a100.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace multiplex
{

namespace
{

/// The GPU that constants and instances are of, and its multiprocessors.
constexpr const char* SLICED_GPU = "A100";
constexpr double SLICED_MULTIPROCESSORS = 108;
/// Rows that a band needs.
constexpr std::size_t LEAST_ROWS = 10;

bool
SameModel(const std::string& name, const std::string& row)
{
    const SlicedModel* const one = FindSlicedModel(name);
    return topo::SameName(name, row) || topo::SameName(name, row.substr(0, row.find(" ("))) ||
           (one && one == FindSlicedModel(row));
}

std::string
Signed(double share)
{
    char text[32];
    std::snprintf(text, sizeof text, "%+.0f%%", 100 * share);
    return text;
}

class SliceFinder
{
  public:
    SliceFinder(const std::string& name, const CurveSources& sources)
        : m_name(name),
          m_sources(sources),
          m_known(FindSlicedModel(name))
    {
        for (const SliceRow& row : sources.sliceRows)
        {
            if (SameModel(name, row.model))
            {
                m_rows.push_back(row);
            }
        }
    }

    std::optional<SliceModel> Find(CurveKind kind, std::string* why) const
    {
        if (m_sources.gpu.multiprocessors != SLICED_MULTIPROCESSORS)
        {
            *why = "MIG instances are known of the A100 only; allowed: --gpu=A100";
            return {};
        }
        switch (kind)
        {
        case CurveKind::kTable:
            *why = "rows of MIG instances are fitted; allowed: --curve=auto, fitted, kernels";
            return {};
        case CurveKind::kFitted:
            return Fitted(why);
        case CurveKind::kKernels:
            return FromKernels(why);
        case CurveKind::kAuto:
            break;
        }
        std::string ignored;
        auto found = Fitted(&ignored);
        return found ? found : FromKernels(why);
    }

  private:
    std::optional<SliceModel> Fitted(std::string* why) const
    {
        if (!m_rows.empty())
        {
            return FromRows();
        }
        if (!m_known)
        {
            *why = "has no measured rows on MIG instances; allowed: " +
                   topo::JoinNames(SliceNames(m_sources)) +
                   ", rows of --curves=FILE.csv, or --curve=kernels";
            return {};
        }
        if (m_sources.gpu.name != SLICED_GPU)
        {
            *why = std::string("was measured on an ") + SLICED_GPU +
                   "; allowed: --gpu=" + SLICED_GPU +
                   ", rows of --curves=FILE.csv, or --curve=kernels";
            return {};
        }
        if (m_known->sequence > 0 && m_known->sequence != m_sources.sequence)
        {
            *why = "was measured with " + std::to_string(m_known->sequence) +
                   " tokens; allowed: --seq=" + std::to_string(m_known->sequence) +
                   ", or --curve=kernels";
            return {};
        }
        SliceModel model;
        model.name = m_name;
        model.constants = m_known->constants;
        model.curve = std::make_shared<FittedSlices>(m_known->constants, m_known->largestBatch);
        model.source = "fitted to " + topo::Counted(m_known->rows, "row") +
                       " of ParvaGPU's (PyTorch, TF32), batches to " +
                       std::to_string(m_known->largestBatch);
        model.measured = {kFittedBand, "measured, an instance size left out of the fit,"};
        model.beyond = {kBatchBand, "measured, a batch left out of the fit,"};
        return model;
    }

    SliceModel FromRows() const
    {
        const UsualConstants usual = m_known ? UsualOf(*m_known) : UsualOfAnyModel();
        SliceModel model;
        model.name = m_name;
        model.constants = FitSlices(m_rows, usual);
        uint32_t largest = 1;
        std::vector<double> errors;
        for (const SliceRow& row : m_rows)
        {
            largest = std::max(largest, row.batch);
            errors.push_back(LogError(*model.constants, row));
        }
        model.curve = std::make_shared<FittedSlices>(*model.constants, largest);
        char text[64];
        std::snprintf(text, sizeof text, ", median error %.1f%%", 100 * Summarize(errors).median);
        model.source = "fitted to " + topo::Counted(m_rows.size(), "row") + " of --curves" + text +
                       ", batches to " + std::to_string(largest);
        const auto band = [&](const std::string& what, const auto& key) {
            const auto left = LeftOutErrors(m_rows, usual, key);
            return left.size() < LEAST_ROWS
                       ? std::nullopt
                       : std::optional<SliceBand>(
                             {Summarize(left),
                              "rows of --curves, " + what + " left out of the fit,"});
        };
        model.measured =
            band("an instance size", [](const SliceRow& row) { return row.instance->slices; });
        model.beyond = band("a batch", [](const SliceRow& row) { return row.batch; });
        return model;
    }

    std::optional<SliceModel> FromKernels(std::string* why) const
    {
        const auto spec = training::FindModel(m_name.substr(0, m_name.find(" (")));
        if (!spec)
        {
            *why = "is no model that was measured on MIG instances; allowed: " +
                   topo::JoinNames(SliceNames(m_sources)) +
                   ", a model of the zoo (--list=models), or rows of --curves=FILE.csv";
            return {};
        }
        if (spec->layers.empty() || !spec->graph.empty())
        {
            *why = "is a free graph, whose kernels are not known; allowed: --curves=FILE.csv";
            return {};
        }
        if (m_sources.gpu.Peak(m_sources.dtype) <= 0)
        {
            *why =
                m_sources.gpu.name + " does not compute in " + training::DtypeName(m_sources.dtype);
            return {};
        }
        SliceModel model;
        model.name = m_name;
        const auto curve = std::make_shared<KernelSlices>(*spec,
                                                          m_sources.gpu,
                                                          m_sources.dtype,
                                                          m_sources.sequence,
                                                          m_sources.operatorSeconds);
        char text[96];
        std::snprintf(text,
                      sizeof text,
                      "; %.0f operators of %.3g us on the host",
                      curve->Operators(),
                      1e6 * m_sources.operatorSeconds);
        model.source =
            "kernels on " + m_sources.gpu.name + ", " + training::DtypeName(m_sources.dtype) +
            (spec->hasSequence ? ", " + topo::Counted(m_sources.sequence, "token") : "") + text;
        model.curve = curve;
        model.measured = {kKernelBand, "measured, by kernels alone,"};
        model.beyond = model.measured;
        return model;
    }

    std::string m_name;
    const CurveSources& m_sources;
    const SlicedModel* m_known;
    std::vector<SliceRow> m_rows;
};

} // namespace

std::optional<SliceModel>
FindSlices(const std::string& name,
           CurveKind kind,
           const CurveSources& sources,
           std::string* why,
           std::string* nearest)
{
    auto found = SliceFinder(name, sources).Find(kind, why);
    if (!found)
    {
        std::vector<std::string> names = SliceNames(sources);
        for (const std::string& zoo : training::ModelNames())
        {
            names.push_back(zoo);
        }
        *nearest = rdma::NearestName(name, names);
        if (topo::SameName(*nearest, name))
        {
            nearest->clear();
        }
    }
    return found;
}

std::vector<std::string>
SliceNames(const CurveSources& sources)
{
    std::vector<std::string> names;
    const auto add = [&names](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end())
        {
            names.push_back(name);
        }
    };
    for (const SliceRow& row : sources.sliceRows)
    {
        add(row.model);
    }
    for (const SlicedModel& model : SlicedModels())
    {
        const bool there = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
            return SameModel(model.name, name);
        });
        if (!there)
        {
            add(model.name);
        }
    }
    return names;
}

std::string
BandText(const std::optional<SliceBand>& band)
{
    if (!band)
    {
        return "no band: fewer than 10 rows like this";
    }
    // Errors are of computed over measured; what is told is measured over computed.
    const auto ends = *BandOf(band, 1);
    return "80% of " + std::to_string(band->errors.rows) + " " + band->of + " lay within " +
           Signed(ends.first - 1) + " to " + Signed(ends.second - 1);
}

std::optional<std::pair<double, double>>
BandOf(const std::optional<SliceBand>& band, double perSecond)
{
    if (!band)
    {
        return {};
    }
    return {{perSecond / (1 + band->errors.high), perSecond / (1 + band->errors.low)}};
}

} // namespace multiplex
