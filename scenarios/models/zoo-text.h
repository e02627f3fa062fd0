/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The zoo's JSON: lists of models in the form that users write too (model-json.cc), kept in the
 * binary so that they are found from any folder. Where `parameters_published` stands, the
 * arithmetic on the shapes gives exactly that number (ParseModelJson insists).
 */
#ifndef SCENARIOS_MODELS_ZOO_TEXT_H
#define SCENARIOS_MODELS_ZOO_TEXT_H

namespace training
{

const char* LanguageZoo();
const char* PictureZoo();

} // namespace training

#endif // SCENARIOS_MODELS_ZOO_TEXT_H
