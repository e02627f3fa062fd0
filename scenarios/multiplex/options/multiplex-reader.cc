/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the options for many models on a GPU mean together.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/goodput/options/span.h"
#include "scenarios/multiplex/options/multiplex-options.h"
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
        const std::vector<std::string> tasks = {"multiplex", "share-curve", "compare"};
        std::vector<std::string> asked;
        for (const std::string& task : tasks)
        {
            if (IsAsked(task))
            {
                asked.push_back(task);
            }
        }
        if (asked.size() != 1)
        {
            Fail(asked.empty() ? "multiplex" : asked[1],
                 asked.empty() ? "is missing; allowed: --multiplex=FILE.json, --share-curve or "
                                 "--compare=FILE.csv"
                               : "cannot be combined with --" + asked[0] + "; use one of them");
            return;
        }
        m_s.task = asked[0] == "multiplex"     ? MultiplexTask::kMix
                   : asked[0] == "share-curve" ? MultiplexTask::kCurve
                                               : MultiplexTask::kCompare;
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
            Refuse({"policy", "sweep-rate"}, "is for --multiplex");
            m_s.kind = *multiplex::ParseCurveKind(m_values.Text("curve"));
            m_s.task == MultiplexTask::kCurve ? ReadCurves() : ReadMeasured();
        }
    }

  private:
    bool IsAsked(const std::string& task) const
    {
        return task == "share-curve" ? m_values.Flag(task) : m_values.Given(task);
    }

    void Fail(const std::string& option, const std::string& problem, const std::string& near = "")
    {
        const std::string value = m_values[option].present ? m_values.Raw(option) : "";
        m_result.errors.push_back({m_values.Where(option), value, problem, near});
    }

    void Refuse(const std::vector<std::string>& options, const std::string& why)
    {
        for (const std::string& option : options)
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
    std::string TextOf(const std::string& option, const std::string& otherwise) const
    {
        return m_values[option].present && !m_values.Raw(option).empty() ? m_values.Raw(option)
                                                                         : otherwise;
    }

    void ReadSources()
    {
        const std::string gpu = TextOf("gpu", "V100");
        if (const auto known = training::FindGpu(gpu))
        {
            m_s.sources.gpu = *known;
        }
        else
        {
            ReadGpuFile(gpu);
        }
        const bool narrow = m_s.sources.gpu.Peak(training::Dtype::kBf16) > 0;
        const auto dtype = training::ParseDtype(TextOf("dtype", narrow ? "bf16" : "fp32"));
        if (!dtype)
        {
            Fail("dtype", "allowed: " + topo::JoinNames(training::DtypeNames()));
        }
        m_s.sources.dtype = dtype.value_or(training::Dtype::kFp32);
        m_s.sources.sequence = m_values.U32("seq");
        if (m_values.Given("curves"))
        {
            std::vector<topo::Error> errors;
            m_s.sources.table =
                multiplex::ReadCurveTable(m_values.Text("curves"), errors, &m_result.notes);
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
            Fail("gpu",
                 "is no GPU; allowed: " + topo::JoinNames(training::GpuNames()) +
                     ", or a JSON file of one",
                 rdma::NearestName(path, training::GpuNames()));
        }
    }

    void ReadMixOptions()
    {
        m_s.settings.seed = m_values.Integer("seed");
        m_s.settings.interference = m_values.Flag("interference");
        m_s.settings.switchTime =
            static_cast<double>(m_values.Duration("switch-time").ps) / multiplex::kPsPerSecond;
        const auto duration = ParseSpan(TextOf("duration", "10s"));
        if (!duration || *duration < 1e-3 || *duration > 86400 * 10)
        {
            Fail("duration", "allowed: 1ms to 10d, such as 60s");
        }
        m_s.settings.duration = duration.value_or(10);
        const std::string gpus = TextOf("gpus", "1");
        const bool digits =
            !gpus.empty() && gpus.find_first_not_of("0123456789") == std::string::npos;
        const unsigned long count = digits ? std::strtoul(gpus.c_str(), nullptr, 10) : 0;
        if (count < 1 || count > MOST_GPUS_OF_MIX)
        {
            Fail("gpus", "allowed: 1 to 1000");
        }
        m_s.settings.gpus = static_cast<uint32_t>(std::clamp(count, 1UL, 1000UL));
        ReadPolicies();
        ReadScales();
        Refuse({"model", "batch", "curve"}, "is for --share-curve; the mix has them");
        if (!m_result.errors.empty())
        {
            return;
        }
        std::vector<topo::Error> errors;
        m_s.mix =
            multiplex::ReadMix(m_values.Text("multiplex"), m_s.settings.gpus, &m_s.sources, errors);
        Keep(errors);
        m_result.notes.insert(m_result.notes.end(),
                              m_s.sources.notes.begin(),
                              m_s.sources.notes.end());
        if (!m_result.errors.empty())
        {
            return;
        }
        CheckPlacement();
    }

    void ReadPolicies()
    {
        const auto names = multiplex::RegisteredPolicy::Names();
        for (const std::string& name : m_values.List("policy"))
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
                Fail("policy",
                     topo::Quoted(name) + " is no policy; allowed: all, " + topo::JoinNames(names),
                     rdma::NearestName(name, names));
                continue;
            }
            m_s.policies.push_back(*known);
        }
    }

    void ReadScales()
    {
        m_s.scales = {1};
        if (!m_values.Given("sweep-rate"))
        {
            return;
        }
        m_s.scales.clear();
        const std::string& text = m_values.Text("sweep-rate");
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
            Fail("sweep-rate",
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

    void AddModel(const std::string& name, const std::string& option)
    {
        std::string why;
        std::string near;
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
        const std::string names = TextOf("model", "");
        if (names.empty())
        {
            for (const std::string& name : multiplex::CurveNames(m_s.sources))
            {
                AddModel(name, "model");
            }
            if (m_s.models.empty() && m_result.errors.empty())
            {
                Fail("model", "is missing; allowed: a model of the zoo, or of --curves=FILE.csv");
            }
        }
        else
        {
            for (const std::string& name : Parts(names))
            {
                AddModel(name, "model");
            }
        }
        for (const std::string& part : Parts(TextOf("batch", "1,8,16")))
        {
            const bool digits = !part.empty() && part.size() <= 4 &&
                                part.find_first_not_of("0123456789") == std::string::npos;
            const unsigned long batch = digits ? std::strtoul(part.c_str(), nullptr, 10) : 0;
            if (batch < 1 || batch > 4096)
            {
                Fail("batch", "allowed: batches from 1 to 4096, such as 1,8,16");
                return;
            }
            m_s.batches.push_back(static_cast<uint32_t>(batch));
        }
    }

    void ReadMeasured()
    {
        std::vector<topo::Error> errors;
        m_s.measured =
            multiplex::ReadMeasurements(m_values.Text("compare"), errors, &m_result.notes);
        Keep(errors);
        Refuse({"model", "batch"}, "the rows of --compare have them");
        std::set<std::string> names;
        for (const auto& [name, points] : m_s.measured.alone)
        {
            names.insert(name);
        }
        for (const multiplex::PairRow& row : m_s.measured.pairs)
        {
            names.insert(std::begin(row.model), std::end(row.model));
        }
        for (const std::string& name : names)
        {
            AddModel(name, "compare");
        }
        if (m_result.errors.empty() && names.empty())
        {
            Fail("compare", "has no rows");
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
    run.seed = read.values.Integer("seed");
    run.dryRun = read.values.Flag("dry-run");
    run.report = read.values.Flag("report");
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
