/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * mix.json.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/multiplex/knee.h"
#include "scenarios/multiplex/mix.h"
#include "scenarios/options/span.h"
#include "topologies/json-reader.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace multiplex
{

namespace
{

using nlohmann::json;

constexpr std::size_t MOST_MODELS = 1000;
constexpr double MOST_RATE = 1e7;
constexpr double LEAST_SHARE = 1;
constexpr uint32_t MOST_BATCH_ALLOWED = 4096;

/// A text that is one number to its end.
std::optional<double>
WholeNumber(const std::string& text)
{
    char* end = nullptr;
    const bool starts = !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 ||
                                          text[0] == '.' || text[0] == '-');
    const double value = starts ? std::strtod(text.c_str(), &end) : 0;
    if (!starts || *end != '\0' || !std::isfinite(value))
    {
        return {};
    }
    return value;
}

/// Two digits after the point, or fewer.
std::string
Milliseconds(double seconds)
{
    char text[32];
    std::snprintf(text, sizeof text, seconds < 0.01 ? "%.2f ms" : "%.1f ms", seconds * 1e3);
    return text;
}

/// One element of /models.
class LoadReader
{
  public:
    LoadReader(topo::JsonObject& object, uint32_t gpus, const CurveSources& sources)
        : m_object(object),
          m_gpus(gpus),
          m_sources(sources)
    {
    }

    ModelLoad Take()
    {
        const std::size_t before = m_object.Errors();
        if (!m_object.Only({"model",
                            "name",
                            "rate",
                            "slo",
                            "batch",
                            "share",
                            "gpu",
                            "weight",
                            "max_batch",
                            "curve",
                            "instance",
                            "processes"}))
        {
            return m_load;
        }
        std::string model;
        m_object.Name("model", model);
        m_load.name = model;
        m_object.Name("name", m_load.name, topo::Need::kOptional);
        CurveKind kind = CurveKind::kAuto;
        if (std::string text; m_object.Has("curve") && m_object.Text("curve", text))
        {
            const auto known = ParseCurveKind(text);
            if (!known)
            {
                m_object.Fail("curve",
                              "allowed: " + topo::JoinNames(CurveKindNames()) +
                                  topo::DidYouMean(text, CurveKindNames()));
            }
            kind = known.value_or(kind);
        }
        ReadRate();
        ReadSlo();
        ReadShare();
        ReadInstance();
        m_object.Whole("weight", m_load.weight, 1, 1000);
        if (m_object.Has("gpu"))
        {
            uint32_t gpu = 0;
            if (m_object.Whole("gpu", gpu, 0, m_gpus - 1))
            {
                m_load.gpu = gpu;
            }
        }
        if (m_object.Errors() != before)
        {
            return m_load;
        }
        std::string why;
        std::string nearest;
        const auto served = m_load.OnInstance()
                                ? FindOnInstance(model, kind, &why, &nearest)
                                : FindServedModel(model, kind, m_sources, &why, &nearest);
        if (!served)
        {
            m_object.Fail("model",
                          why + (nearest.empty() ? "" : " (did you mean " + nearest + "?)"));
            return m_load;
        }
        m_load.served = *served;
        ReadBatch();
        if (m_object.Errors() == before)
        {
            CheckSlo();
        }
        return m_load;
    }

  private:
    std::optional<ServedModel> FindOnInstance(const std::string& name,
                                              CurveKind kind,
                                              std::string* why,
                                              std::string* nearest)
    {
        m_load.slices = FindSlices(name, kind, m_sources, why, nearest);
        if (!m_load.slices)
        {
            return {};
        }
        ServedModel served;
        served.name = name;
        served.curve = std::make_shared<SliceShareCurve>(m_load.slices->curve, m_load.processes);
        served.source = m_load.slices->source;
        served.profile = UsualProfile(0);
        return served;
    }

    void ReadInstance()
    {
        if (std::string text; m_object.Has("instance") && m_object.Text("instance", text))
        {
            m_load.instance = FindMigInstance(text);
            if (!m_load.instance)
            {
                m_object.Fail("instance",
                              "is no MIG instance; allowed: " + MigInstanceNames() +
                                  ", or 1g to 7g");
                return;
            }
            if (m_load.percent > 0)
            {
                m_object.Fail("share", "cannot be combined with \"instance\"; use one of them");
            }
            m_load.percent = m_load.instance->Percent();
        }
        m_object.Whole("processes", m_load.processes, 1, kMostProcesses);
        if (!m_load.instance && (m_object.Has("processes") || m_load.closed))
        {
            m_object.Fail(m_load.closed ? "rate" : "processes",
                          "needs \"instance\"; allowed: " + MigInstanceNames());
        }
    }

    void ReadRate()
    {
        const json* const rate = m_object.Find("rate", topo::Need::kRequired);
        if (!rate)
        {
            return;
        }
        m_load.closed = *rate == "closed";
        if (m_load.closed)
        {
            return;
        }
        std::optional<double> value;
        if (rate->is_number())
        {
            value = rate->get<double>();
        }
        else if (rate->is_string())
        {
            std::string text = rate->get<std::string>();
            if (const std::size_t colon = text.find(':'); colon != std::string::npos)
            {
                const std::string kind = text.substr(0, colon);
                m_load.poisson = kind == "poisson";
                value = m_load.poisson || kind == "uniform" ? WholeNumber(text.substr(colon + 1))
                                                            : std::nullopt;
            }
            else
            {
                value = WholeNumber(text);
            }
        }
        if (!value || !(*value > 0) || *value > MOST_RATE)
        {
            m_object.Fail(
                "rate",
                "is no rate; allowed: requests/s above 0, at most 10,000,000, such as 150, "
                "\"poisson:150\" or \"uniform:150\"; with \"instance\" \"closed\"");
            return;
        }
        m_load.rate = *value;
    }

    void ReadSlo()
    {
        std::string text;
        if (!m_object.Text("slo", text, topo::Need::kRequired))
        {
            return;
        }
        const auto seconds = scenario::ParseSpan(text);
        if (!seconds || *seconds < 1e-6 || *seconds > 3600)
        {
            m_object.Fail("slo", "is no latency; allowed: 1us to 1h, such as \"50ms\"");
            return;
        }
        m_load.slo = *seconds;
    }

    void ReadShare()
    {
        const json* const share = m_object.Find("share");
        if (!share || *share == "auto")
        {
            return;
        }
        const auto percent = share->is_number()   ? std::optional(share->get<double>())
                             : share->is_string() ? ParseShare(share->get<std::string>())
                                                  : std::nullopt;
        if (!percent || *percent < LEAST_SHARE || *percent > kWholeGpu)
        {
            m_object.Fail("share",
                          "is no share of a GPU; allowed: \"auto\", or 1% to 100%, such as \"40%\" "
                          "or \"2/7\"");
            return;
        }
        m_load.percent = *percent;
    }

    void ReadBatch()
    {
        m_load.mostBatch = std::min(m_load.served.curve->LargestBatch(), 32U);
        m_object.Whole("max_batch", m_load.mostBatch, 1, MOST_BATCH_ALLOWED);
        const json* const batch = m_object.Find("batch");
        if (batch && *batch != "auto")
        {
            if (!batch->is_number_unsigned() || *batch == 0 || *batch > MOST_BATCH_ALLOWED)
            {
                m_object.Fail("batch", "is no batch; allowed: \"auto\", or 1 to 4096");
                return;
            }
            m_load.batch = batch->get<uint32_t>();
        }
        const ShareCurve& curve = *m_load.served.curve;
        for (const auto& [key, size] :
             {std::pair{"batch", m_load.batch}, std::pair{"max_batch", m_load.mostBatch}})
        {
            const std::string why = size > 0 ? curve.WhyNot(size, kWholeGpu) : "";
            if (!why.empty())
            {
                m_object.Has(key) ? m_object.Fail(key, why) : m_object.Say("", why);
                return;
            }
        }
        if (m_load.percent > 0)
        {
            const std::string why =
                curve.WhyNot(m_load.batch > 0 ? m_load.batch : m_load.mostBatch, m_load.percent);
            if (!why.empty())
            {
                m_object.Fail("share", why);
            }
        }
    }

    void CheckSlo()
    {
        const ShareCurve& curve = *m_load.served.curve;
        const uint32_t batch =
            m_load.batch > 0 ? m_load.batch : LeastKnownBatch(curve, m_load.mostBatch);
        const double least = curve.Seconds(batch, kWholeGpu);
        if (m_load.slo < least)
        {
            m_object.Fail("slo",
                          "is below the latency of a batch of " + std::to_string(batch) +
                              " on a whole GPU; the least that can be met is " +
                              Milliseconds(std::ceil(least * 1e5) / 1e5));
        }
    }

    topo::JsonObject& m_object;
    uint32_t m_gpus;
    const CurveSources& m_sources;
    ModelLoad m_load;
};

} // namespace

bool
Mix::HasInstances() const
{
    return std::any_of(models.begin(), models.end(), [](const ModelLoad& load) {
        return load.OnInstance();
    });
}

std::optional<double>
ParseShare(const std::string& text)
{
    std::string number = text;
    double unit = 1;
    if (number.size() > 1 && number.back() == '%')
    {
        number.pop_back();
    }
    else if (number.size() == 2 && number.back() == 'g')
    {
        number.pop_back();
        unit = kMigSlice;
    }
    else if (number.size() == 3 && number.substr(1) == "/7")
    {
        number = number.substr(0, 1);
        unit = kMigSlice;
    }
    const auto value = WholeNumber(number);
    if (!value || !(*value > 0) || *value * unit > kWholeGpu * (1 + 1e-12))
    {
        return {};
    }
    return std::min(*value * unit, kWholeGpu);
}

Mix
ParseMix(const std::string& text,
         const std::string& file,
         uint32_t gpus,
         CurveSources* sources,
         std::vector<topo::Error>& errors)
{
    Mix mix;
    mix.file = file;
    const auto document = topo::ReadJson(text, file, errors);
    if (!document)
    {
        return mix;
    }
    topo::JsonObject root(*document, "", file, errors);
    if (!root.Only({"models", "curves", "description"}))
    {
        return mix;
    }
    std::string ignored;
    root.Text("description", ignored);
    if (std::string curves; root.Has("curves") && root.Text("curves", curves))
    {
        namespace fs = std::filesystem;
        const fs::path path = fs::path(curves).is_absolute()
                                  ? fs::path(curves)
                                  : fs::path(file).parent_path() / curves;
        const std::size_t before = errors.size();
        const Measurements more = ReadCurveRows(path.string(), errors, &sources->notes);
        if (errors.size() != before)
        {
            return mix;
        }
        // --curves of the command line wins.
        sources->table.insert(more.alone.begin(), more.alone.end());
        if (sources->sliceRows.empty())
        {
            sources->sliceRows = more.slices;
        }
    }
    const json* const models = root.List("models", topo::Need::kRequired);
    if (!models)
    {
        return mix;
    }
    if (models->empty() || models->size() > MOST_MODELS)
    {
        root.Say("models",
                 models->empty() ? "is empty; allowed: 1 to 1000 models"
                                 : "has more than 1000 models");
        return mix;
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < models->size() && !root.TooMany(); ++i)
    {
        topo::JsonObject object = root.Inner((*models)[i], "models/" + std::to_string(i));
        ModelLoad load = LoadReader(object, gpus, *sources).Take();
        if (!load.name.empty() && !names.insert(load.name).second)
        {
            object.Say("",
                       "is the second model that is called " + topo::Quoted(load.name) +
                           "; give it a \"name\" of its own");
        }
        mix.models.push_back(std::move(load));
    }
    return mix;
}

Mix
ReadMix(const std::string& path,
        uint32_t gpus,
        CurveSources* sources,
        std::vector<topo::Error>& errors)
{
    const auto text = formats::ReadInput(path, errors);
    return text ? ParseMix(*text, path, gpus, sources, errors) : Mix();
}

} // namespace multiplex
