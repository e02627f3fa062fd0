/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the options for many models on a GPU mean together.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/asked/multiplex.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/serving.h"
#include "scenarios/multiplex/options/multiplex-options.h"
#include "scenarios/options/span.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

namespace scenario
{

namespace
{

constexpr uint32_t MOST_GPUS_OF_MIX = 1000;
constexpr std::size_t MOST_SCALES = 200;

class MultiplexReader
{
  public:
    MultiplexReader(const ReadResult& read, MultiplexResult* result)
        : m_values(read.values),
          m_s(result->scenario),
          m_result(*result)
    {
    }

    void Take()
    {
        std::vector<std::pair<Member, MultiplexTask>> tasks;
        if (m_values.Given(&asked::Multiplex::multiplex))
        {
            tasks.emplace_back(&asked::Multiplex::multiplex, MultiplexTask::kMix);
        }
        if (m_values.Get(&asked::Multiplex::shareCurve))
        {
            tasks.emplace_back(&asked::Multiplex::shareCurve, MultiplexTask::kCurve);
        }
        if (m_values.Get(&asked::Multiplex::slices))
        {
            tasks.emplace_back(&asked::Multiplex::slices, MultiplexTask::kSlices);
        }
        if (m_values.Given(&asked::Multiplex::compare))
        {
            tasks.emplace_back(&asked::Multiplex::compare, MultiplexTask::kCompare);
        }
        if (tasks.size() != 1)
        {
            Fail(tasks.empty() ? Member(&asked::Multiplex::multiplex) : tasks[1].first,
                 tasks.empty()
                     ? "is missing; allowed: --multiplex=FILE.json, --share-curve, --slices or "
                       "--compare=FILE.csv"
                     : "cannot be combined with " + Spell(tasks[0].first) + "; use one of them");
            return;
        }
        m_s.task = tasks[0].second;
        if (m_s.task == MultiplexTask::kCompare)
        {
            std::vector<topo::Error> errors;
            m_s.measured = multiplex::ReadMeasurements(m_values.Get(&asked::Multiplex::compare),
                                                       errors,
                                                       &m_result.notes);
            Keep(errors);
        }
        ReadSources();
        if (!m_result.errors.empty())
        {
            return;
        }
        if (m_s.task == MultiplexTask::kMix)
        {
            ReadMixOptions();
        }
        else
        {
            Refuse({Member(&asked::Multiplex::policy), Member(&asked::Serving::sweepRate)},
                   "is for --multiplex");
            m_s.kind = *multiplex::ParseCurveKind(m_values.Get(&asked::Multiplex::curve));
            if (m_s.task != MultiplexTask::kSlices)
            {
                Refuse({Member(&asked::Multiplex::processes)}, "is for --slices");
            }
            m_s.task == MultiplexTask::kCompare ? ReadMeasured() : ReadCurves();
        }
    }

  private:
    void Fail(Member option, const std::string& problem, const std::string& near = "")
    {
        const std::string value = m_values.Has(option) ? m_values.Raw(option) : "";
        m_result.errors.push_back({m_values.Where(option), value, problem, near});
    }

    void Refuse(const std::vector<Member>& options, const std::string& why)
    {
        for (Member option : options)
        {
            if (m_values.Given(option))
            {
                Fail(option, why);
            }
        }
    }

    void Keep(const std::vector<topo::Error>& errors)
    {
        for (const topo::Error& error : errors)
        {
            m_result.errors.push_back({"", "", error.Sentence(), error.nearest});
        }
    }

    /// Of text, or of any other kind: as it was given.
    std::string TextOf(Member option, const std::string& otherwise) const
    {
        return m_values.Has(option) && !m_values.Raw(option).empty() ? m_values.Raw(option)
                                                                     : otherwise;
    }

    /// Whether models are on MIG instances: of the GPU that they are known of, as PyTorch computes
    /// there.
    bool IsOfInstances() const
    {
        return m_s.task == MultiplexTask::kSlices || !m_s.measured.slices.empty();
    }

    void ReadSources()
    {
        const bool sliced = IsOfInstances();
        const bool chosen = m_values.Given(&asked::Multiplex::gpu);
        const std::string gpu = sliced && !chosen ? "A100" : TextOf(&asked::Multiplex::gpu, "V100");
        if (const auto known = training::FindGpu(gpu))
        {
            m_s.sources.gpu = *known;
        }
        else
        {
            ReadGpuFile(gpu);
        }
        const bool narrow = m_s.sources.gpu.Peak(training::Dtype::kBf16) > 0;
        const auto dtype = training::ParseDtype(TextOf(&asked::Multiplex::dtype,
                                                       sliced   ? "tf32"
                                                       : narrow ? "bf16"
                                                                : "fp32"));
        if (!dtype)
        {
            Fail(&asked::Multiplex::dtype, "allowed: " + topo::JoinNames(training::DtypeNames()));
        }
        m_s.sources.dtype = dtype.value_or(training::Dtype::kFp32);
        m_s.sources.sequence = m_values.Get(&asked::Multiplex::seq);
        m_s.sources.operatorSeconds =
            static_cast<double>(m_values.Get(&asked::Multiplex::operatorTime).ps) /
            multiplex::kPsPerSecond;
        if (m_values.Given(&asked::Multiplex::curves))
        {
            std::vector<topo::Error> errors;
            const multiplex::Measurements rows =
                multiplex::ReadCurveRows(m_values.Get(&asked::Multiplex::curves),
                                         errors,
                                         &m_result.notes);
            m_s.sources.table = rows.alone;
            m_s.sources.sliceRows = rows.slices;
            Keep(errors);
        }
    }

    void ReadGpuFile(const std::string& path)
    {
        std::vector<topo::Error> errors;
        std::ifstream file(path);
        std::optional<training::GpuSpec> gpu;
        if (file && path.find_first_of("./") != std::string::npos)
        {
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            const auto json = topo::JsonOrDiscarded(text);
            if (!json.is_discarded())
            {
                gpu = training::ParseGpuJson(json, path, errors);
            }
        }
        Keep(errors);
        if (gpu)
        {
            m_s.sources.gpu = *gpu;
        }
        else if (errors.empty())
        {
            Fail(&asked::Multiplex::gpu,
                 "is no GPU; allowed: " + topo::JoinNames(training::GpuNames()) +
                     ", or a JSON file of one",
                 rdma::NearestName(path, training::GpuNames()));
        }
    }

    void ReadMixOptions()
    {
        m_s.settings.seed = m_values.Get(&asked::Run::seed);
        m_s.settings.interference = m_values.Get(&asked::Multiplex::interference);
        m_s.settings.switchTime =
            static_cast<double>(m_values.Get(&asked::Multiplex::switchTime).ps) /
            multiplex::kPsPerSecond;
        const auto duration = ParseSpan(TextOf(&asked::Multiplex::duration, "10s"));
        if (!duration || *duration < 1e-3 || *duration > 86400 * 10)
        {
            Fail(&asked::Multiplex::duration, "allowed: 1ms to 10d, such as 60s");
        }
        m_s.settings.duration = duration.value_or(10);
        const std::string gpus = TextOf(&asked::Multiplex::gpus, "1");
        const bool digits =
            !gpus.empty() && gpus.find_first_not_of("0123456789") == std::string::npos;
        const unsigned long count = digits ? std::strtoul(gpus.c_str(), nullptr, 10) : 0;
        if (count < 1 || count > MOST_GPUS_OF_MIX)
        {
            Fail(&asked::Multiplex::gpus, "allowed: 1 to 1000");
        }
        m_s.settings.gpus = static_cast<uint32_t>(std::clamp(count, 1UL, 1000UL));
        ReadPolicies();
        ReadScales();
        Refuse({Member(&asked::Multiplex::model),
                Member(&asked::Multiplex::batch),
                Member(&asked::Multiplex::curve),
                Member(&asked::Multiplex::processes)},
               "is for --share-curve or --slices; the mix has them");
        if (!m_result.errors.empty())
        {
            return;
        }
        std::vector<topo::Error> errors;
        m_s.mix = multiplex::ReadMix(m_values.Get(&asked::Multiplex::multiplex),
                                     m_s.settings.gpus,
                                     &m_s.sources,
                                     errors);
        Keep(errors);
        m_result.notes.insert(m_result.notes.end(),
                              m_s.sources.notes.begin(),
                              m_s.sources.notes.end());
        if (!m_result.errors.empty())
        {
            return;
        }
        ChooseMig();
        if (!m_result.errors.empty())
        {
            return;
        }
        CheckPlacement();
    }

    void ReadPolicies()
    {
        const auto names = multiplex::RegisteredPolicy::Names();
        for (const std::string& name : m_values.Get(&asked::Multiplex::policy))
        {
            if (name == "all")
            {
                m_s.policies = names;
                return;
            }
            const auto known = std::find_if(names.begin(), names.end(), [&](const auto& one) {
                return topo::SameName(name, one);
            });
            if (known == names.end())
            {
                Fail(&asked::Multiplex::policy,
                     topo::Quoted(name) + " is no policy; allowed: all, " + topo::JoinNames(names),
                     rdma::NearestName(name, names));
                continue;
            }
            m_s.policies.push_back(*known);
        }
    }

    /// Instances of entries are for that policy alone.
    void ChooseMig()
    {
        const std::vector<std::string> mig = {"mig"};
        if (!m_s.mix.HasInstances() || m_s.policies == mig)
        {
            return;
        }
        if (m_values.Given(&asked::Multiplex::policy))
        {
            Fail(&asked::Multiplex::policy,
                 "the mix has entries with an instance; allowed: mig",
                 "mig");
            return;
        }
        m_s.policies = mig;
    }

    void ReadScales()
    {
        m_s.scales = {1};
        if (!m_values.Given(&asked::Serving::sweepRate))
        {
            return;
        }
        m_s.scales.clear();
        const std::string& text = m_values.Get(&asked::Serving::sweepRate);
        const std::size_t dots = text.find("..");
        const std::size_t colon = text.find(':');
        const bool stepped = colon != std::string::npos;
        const auto number = [](const std::string& part) {
            char* end = nullptr;
            const double value = std::strtod(part.c_str(), &end);
            return !part.empty() && *end == '\0' && std::isfinite(value) ? value : -1;
        };
        const bool ranged = dots != std::string::npos && (!stepped || colon > dots);
        const double from = ranged ? number(text.substr(0, dots)) : -1;
        const double to =
            ranged ? number(text.substr(dots + 2, stepped ? colon - dots - 2 : colon)) : -1;
        const double step = stepped ? number(text.substr(colon + 1)) : 0;
        const bool good = from > 0 && to >= from && to <= 1e5 && (!stepped || step > 0);
        const double points = !good ? 0 : stepped ? (to - from) / step : std::log2(to / from);
        if (!good || points > MOST_SCALES)
        {
            Fail(&asked::Serving::sweepRate,
                 "allowed: FROM..TO in per cent of the mix's rates, which doubles, or "
                 "FROM..TO:STEP, "
                 "at most 200 points, such as 10..200 or 20..100:20");
            return;
        }
        for (double at = from; at < to * (1 - 1e-9); at = stepped ? at + step : at * 2)
        {
            m_s.scales.push_back(at / 100);
        }
        m_s.scales.push_back(to / 100);
    }

    /// What a policy cannot place is known before anything runs.
    void CheckPlacement()
    {
        for (const std::string& policy : m_s.policies)
        {
            for (const double scale : m_s.scales)
            {
                multiplex::RunSettings settings = m_s.settings;
                settings.rateScale = scale;
                const multiplex::Plan plan = multiplex::PlanOf(m_s.mix, policy, settings);
                if (plan.why.empty())
                {
                    continue;
                }
                const std::string path =
                    plan.model < 0 ? "/models"
                                   : "/models/" + std::to_string(plan.model) + "/" + plan.key;
                const double percent = plan.model < 0 ? 0 : m_s.mix.models[plan.model].percent;
                m_result.errors.push_back(
                    {m_s.mix.file + ": " + path,
                     plan.key == "share" && percent > 0 ? multiplex::ShareText(percent) : "",
                     "with --policy=" + policy + ": " + plan.why,
                     plan.nearest});
                break;
            }
        }
        const bool mig =
            std::find(m_s.policies.begin(), m_s.policies.end(), "mig") != m_s.policies.end();
        // Since Ampere (NVIDIA Multi-Instance GPU User Guide, "Supported GPUs").
        const std::set<std::string> before = {"Kepler", "Maxwell", "Pascal", "Volta", "Turing"};
        if (mig && before.count(m_s.sources.gpu.generation) > 0)
        {
            m_result.notes.push_back("a " + m_s.sources.gpu.name +
                                     " has no MIG; its rows show what instances of it would do");
        }
    }

    void AddModel(const std::string& name, Member option)
    {
        std::string why;
        std::string near;
        if (IsOfInstances())
        {
            const auto found = multiplex::FindSlices(name, m_s.kind, m_s.sources, &why, &near);
            if (found)
            {
                m_s.slices.push_back(*found);
            }
            else
            {
                m_result.errors.push_back({m_values.Where(option), name, why, near});
            }
            return;
        }
        const auto found = multiplex::FindServedModel(name, m_s.kind, m_s.sources, &why, &near);
        if (found)
        {
            m_s.models.push_back(*found);
        }
        else
        {
            m_result.errors.push_back({m_values.Where(option), name, why, near});
        }
    }

    static std::vector<std::string> Parts(const std::string& text)
    {
        std::vector<std::string> parts(1);
        for (const char c : text)
        {
            if (c == ',')
            {
                parts.emplace_back();
            }
            else
            {
                parts.back() += c;
            }
        }
        return parts;
    }

    void ReadCurves()
    {
        const std::string names = TextOf(&asked::Multiplex::model, "");
        if (names.empty())
        {
            for (const std::string& name : m_s.task == MultiplexTask::kSlices
                                               ? multiplex::SliceNames(m_s.sources)
                                               : multiplex::CurveNames(m_s.sources))
            {
                AddModel(name, &asked::Multiplex::model);
            }
            if (m_s.models.empty() && m_s.slices.empty() && m_result.errors.empty())
            {
                Fail(&asked::Multiplex::model,
                     "is missing; allowed: a model of the zoo, or of --curves=FILE.csv");
            }
        }
        else
        {
            for (const std::string& name : Parts(names))
            {
                AddModel(name, &asked::Multiplex::model);
            }
        }
        m_s.batches = ReadCounts(&asked::Multiplex::batch,
                                 "1,8,16",
                                 4096,
                                 "allowed: batches from 1 to 4096, such as 1,8,16");
        if (m_s.task == MultiplexTask::kSlices)
        {
            m_s.processes = ReadCounts(&asked::Multiplex::processes,
                                       "1,2,3",
                                       multiplex::kMostProcesses,
                                       "allowed: 1 to 48 processes, such as 1,2,3");
        }
    }

    /// "1,8,16". Nothing after an error.
    std::vector<uint32_t> ReadCounts(Member option,
                                     const std::string& otherwise,
                                     unsigned long most,
                                     const std::string& allowed)
    {
        std::vector<uint32_t> counts;
        for (const std::string& part : Parts(TextOf(option, otherwise)))
        {
            const bool digits = !part.empty() && part.size() <= 4 &&
                                part.find_first_not_of("0123456789") == std::string::npos;
            const unsigned long count = digits ? std::strtoul(part.c_str(), nullptr, 10) : 0;
            if (count < 1 || count > most)
            {
                Fail(option, allowed);
                return {};
            }
            counts.push_back(static_cast<uint32_t>(count));
        }
        return counts;
    }

    void ReadMeasured()
    {
        Refuse({Member(&asked::Multiplex::model), Member(&asked::Multiplex::batch)},
               "the rows of --compare have them");
        std::set<std::string> names;
        for (const auto& [name, points] : m_s.measured.alone)
        {
            names.insert(name);
        }
        for (const multiplex::PairRow& row : m_s.measured.pairs)
        {
            names.insert(std::begin(row.model), std::end(row.model));
        }
        for (const multiplex::SliceRow& row : m_s.measured.slices)
        {
            names.insert(row.model);
        }
        for (const std::string& name : names)
        {
            AddModel(name, &asked::Multiplex::compare);
        }
        if (m_result.errors.empty() && names.empty())
        {
            Fail(&asked::Multiplex::compare, "has no rows");
        }
    }

    const Values& m_values;
    MultiplexScenario& m_s;
    MultiplexResult& m_result;
};

} // namespace

MultiplexResult
ValidateMultiplex(const OptionTable& table, const ReadResult& read)
{
    MultiplexResult result;
    result.errors = read.errors;
    if (!result.errors.empty())
    {
        return result;
    }
    MultiplexReader(read, &result).Take();
    result.scenario.values = read.values;
    RunOptions& run = result.scenario.run;
    run.seed = read.values.Get(&asked::Run::seed);
    run.dryRun = read.values.Get(&asked::Run::dryRun);
    run.report = read.values.Get(&asked::Run::report);
    std::vector<std::string> except = {"out"};
    for (const Option& option : table.options)
    {
        if (!read.values.Given(option.name))
        {
            except.push_back(option.name);
        }
    }
    run.asRun = ToJson(table, read.values, except);
    run.asRun["given"] = GivenOf(table, read.values, except);
    return result;
}

} // namespace scenario
