/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/served-model.h"

#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/multiplex/igniter-v100.h"
#include "scenarios/multiplex/kernel-curve.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstdio>

namespace multiplex
{

namespace
{

/// The GPU that igniter-v100.cc is of.
constexpr const char* PROFILED_GPU = "V100";

bool
IsProfiled(const training::GpuSpec& gpu)
{
    return gpu.name == PROFILED_GPU || gpu.name == "V100-16GB";
}

const std::vector<CurvePoint>*
FindInTable(const CurveTable& table, const std::string& name)
{
    for (const auto& [model, points] : table)
    {
        if (topo::SameName(name, model))
        {
            return &points;
        }
    }
    return nullptr;
}

std::string
InPerCent(double share)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
    return text;
}

uint32_t
LargestOf(const std::vector<CurvePoint>& points)
{
    uint32_t largest = 1;
    for (const CurvePoint& point : points)
    {
        largest = std::max(largest, point.batch);
    }
    return largest;
}

class CurveFinder
{
  public:
    CurveFinder(const std::string& name, const CurveSources& sources)
        : m_name(name),
          m_sources(sources),
          m_points(FindInTable(sources.table, name)),
          m_profiled(FindIgniterModel(name)),
          m_model(training::FindModel(name))
    {
    }

    std::optional<ServedModel> Find(CurveKind kind, std::string* why) const
    {
        std::optional<ServedModel> found;
        switch (kind)
        {
        case CurveKind::kTable:
            found = FromTable(why);
            break;
        case CurveKind::kFitted:
            found = Fitted(why);
            break;
        case CurveKind::kKernels:
            found = FromKernels(why);
            break;
        case CurveKind::kAuto:
            found = m_points                                  ? FromTable(why)
                    : m_profiled && IsProfiled(m_sources.gpu) ? Fitted(why)
                                                              : FromKernels(why);
        }
        if (found)
        {
            found->name = m_name;
            found->profile = ProfileOf();
        }
        return found;
    }

  private:
    Profile ProfileOf() const
    {
        if (m_profiled && IsProfiled(m_sources.gpu))
        {
            return m_profiled->profile;
        }
        const bool layers = m_model && !m_model->layers.empty() && m_model->graph.empty();
        if (!layers || m_sources.gpu.Peak(m_sources.dtype) <= 0)
        {
            return UsualProfile(0);
        }
        return UsualProfile(
            KernelCurve(*m_model, m_sources.gpu, m_sources.dtype, m_sources.sequence).Launches());
    }

    std::optional<ServedModel> FromTable(std::string* why) const
    {
        if (!m_points)
        {
            *why = m_sources.table.empty() ? "there is no table; allowed: --curves=FILE.csv"
                                           : "is not in the table of --curves";
            return {};
        }
        ServedModel model;
        model.curve = std::make_shared<TableCurve>(*m_points);
        model.source = "table, " + topo::Counted(m_points->size(), "latency", "latencies");
        return model;
    }

    std::optional<ServedModel> Fitted(std::string* why) const
    {
        ServedModel model;
        if (m_points)
        {
            const Fit fit = FitForm(*m_points);
            if (!fit.why.empty())
            {
                *why = fit.why;
                return {};
            }
            model.curve = std::make_shared<FittedCurve>(fit.k, LargestOf(*m_points));
            model.source = "fitted to " + topo::Counted(m_points->size(), "latency", "latencies") +
                           " of the table: median error " + InPerCent(fit.median) + ", p90 " +
                           InPerCent(fit.p90);
            return model;
        }
        if (!m_profiled || !IsProfiled(m_sources.gpu))
        {
            *why = m_profiled ? std::string("iGniter measured it on a ") + PROFILED_GPU +
                                    "; allowed: --gpu=V100, --curves=FILE.csv, or kernels"
                              : "has no built-in curve and none of --curves";
            return {};
        }
        model.curve = std::make_shared<FittedCurve>(m_profiled->form, m_profiled->largestBatch);
        model.source = "iGniter's form, fitted to its V100";
        return model;
    }

    std::optional<ServedModel> FromKernels(std::string* why) const
    {
        if (!m_model)
        {
            std::vector<std::string> names = CurveNames(m_sources);
            names.emplace_back("a model of the zoo (--list=models)");
            names.emplace_back("a row of --curves=FILE.csv");
            *why = "is no model whose latency is known; allowed: " + topo::JoinNames(names);
            return {};
        }
        if (m_model->layers.empty() || !m_model->graph.empty())
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
        ServedModel model;
        model.curve = std::make_shared<KernelCurve>(*m_model,
                                                    m_sources.gpu,
                                                    m_sources.dtype,
                                                    m_sources.sequence);
        model.source =
            "kernels on " + m_sources.gpu.name + ", " + training::DtypeName(m_sources.dtype) +
            (m_model->hasSequence ? ", " + topo::Counted(m_sources.sequence, "token") : "");
        return model;
    }

    std::string m_name;
    const CurveSources& m_sources;
    const std::vector<CurvePoint>* m_points;
    const ProfiledModel* m_profiled;
    std::optional<training::ModelSpec> m_model;
};

} // namespace

const std::vector<std::string>&
CurveKindNames()
{
    static const std::vector<std::string> names = {"auto", "table", "fitted", "kernels"};
    return names;
}

std::string
CurveKindName(CurveKind kind)
{
    return CurveKindNames()[static_cast<std::size_t>(kind)];
}

std::optional<CurveKind>
ParseCurveKind(const std::string& text)
{
    const auto& names = CurveKindNames();
    const auto it = std::find(names.begin(), names.end(), text);
    if (it == names.end())
    {
        return {};
    }
    return static_cast<CurveKind>(it - names.begin());
}

std::vector<std::string>
CurveNames(const CurveSources& sources)
{
    std::vector<std::string> names;
    for (const auto& [model, points] : sources.table)
    {
        names.push_back(model);
    }
    if (IsProfiled(sources.gpu))
    {
        for (const ProfiledModel& model : IgniterModels())
        {
            names.push_back(model.name);
        }
    }
    return names;
}

std::optional<ServedModel>
FindServedModel(const std::string& name,
                CurveKind kind,
                const CurveSources& sources,
                std::string* why,
                std::string* nearest)
{
    const CurveFinder finder(name, sources);
    auto found = finder.Find(kind, why);
    if (!found)
    {
        std::vector<std::string> names = CurveNames(sources);
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

} // namespace multiplex
