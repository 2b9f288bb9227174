#include "text/language_guess.h"

#include <algorithm>

namespace gannet::text {
namespace {

// A language with stems and its most frequent function words, as the analyzer makes them.
struct FunctionWords {
  Locale language;
  std::string_view words;  // with a space between two
};

constexpr FunctionWords kLanguages[] = {
    {Locale::kEng, "the of and to in is that for it with as are on by this what which how from be"},
    {Locale::kDeu, "der die das und ist nicht den von mit des auf fur ein eine dem wie sich zu im"},
    {Locale::kFra, "le la les des est et du une dans qui que pour pas sur avec au par ce sont un"},
    {Locale::kSpa, "el la los las que del y en una por con para es como un mas al su lo se"},
    {Locale::kIta, "il che di la per una del della con sono gli non le e dei nel si come da alla"},
    {Locale::kPor, "o que de nao uma os do da em para com as dos no na por mais como e das"},
    {Locale::kNld,
     "de het een van en dat niet op te zijn met voor aan er hoe die wat worden uit om"},
    {Locale::kDan,
     "og det at en den til er som pa ikke af der med de et hvad hvordan jeg har blev"},
    {Locale::kNob, "og det at en den til er som pa ikke av der med de et hva hvordan jeg har ble"},
    {Locale::kSwe, "och det att en den till är som på inte av där med de ett vad hur jag har blev"},
    {Locale::kFin,
     "ja on ei se etta han oli mutta kun niin mika ovat joka miten tai myos ole mita"},
    {Locale::kHun,
     "a az es hogy nem egy is van meg mint csak volt de ez mi ha vagy ki hogyan lehet"},
    {Locale::kRon, "si de la in nu un cu este care pe o din pentru sa mai ca sunt cum ce al"},
    {Locale::kTur, "ve bir bu da de icin ile ne cok daha gibi olarak nasil var mi o en kadar ama"},
    {Locale::kCat, "el la els les que del i en una per amb és no es com dels al als van aquest"},
    {Locale::kInd,
     "yang dan di dengan untuk dari ini itu tidak adalah pada ke dalam akan apa oleh"},
    {Locale::kLit, "ir kad tai yra su is ne kaip buvo bet jis i apie nuo ar uz jo kas del po"},
    {Locale::kRus, "и в не на что с как это по для из к от но за он или так о же"},
    {Locale::kSrp, "и у је да се на за са од као не су о што из или који то"},
    {Locale::kEll, "και το να του η της με για την που στο από τα των είναι στην οτι σε δεν ο"},
    {Locale::kAra, "في من على ان الى عن التي الذي ما هذا هو هل كيف مع هذه كان لا او"},
    {Locale::kHye, "եւ է որ մի են համար իր այս թե չի ինչ հետ նա ու եմ"},
    {Locale::kHin, "के का की है में और को से पर कि यह नहीं एक हैं"},
    {Locale::kNep, "छ र को मा लाई पनि यो हो भने छन् गर्न"},
    {Locale::kTam, "ஒரு என்று மற்றும் இந்த என்ன அது இல்லை எப்படி"},
    {Locale::kYid, "און די איז אין דער פון צו אז ניט מיט דאס"},
};

}  // namespace

Locale GuessLanguage(const std::function<double(std::string_view word)>& weight) {
  Locale best = Locale::kUnknown;
  double max = 0;
  for (const auto& [language, words] : kLanguages) {
    double sum = 0;
    for (size_t begin = 0; begin < words.size();) {
      const size_t end = std::min(words.find(' ', begin), words.size());
      sum += weight(words.substr(begin, end - begin));
      begin = end + 1;
    }
    if (sum <= max) continue;
    max = sum;
    best = language;
  }
  return best;
}

}  // namespace gannet::text
