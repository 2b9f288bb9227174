use meilisearch_sdk::client::Client;
use meilisearch_sdk::settings::Settings;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Book {
    id: u32,
    title: String,
    year: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let client = Client::new(&arguments[1], Some(&arguments[2]))?;
    let made = client.create_index("smoke_rust", Some("id")).await?;
    made.wait_for_completion(&client, None, None).await?;
    let index = client.index("smoke_rust");
    let settings = Settings::new().with_filterable_attributes(["year"]);
    let set = index.set_settings(&settings).await?;
    set.wait_for_completion(&client, None, None).await?;
    let books = [
        Book { id: 1, title: "Crime and Punishment".into(), year: 1866 },
        Book { id: 2, title: "Dune".into(), year: 1965 },
    ];
    let added = index.add_documents(&books, None).await?;
    let ended = added.wait_for_completion(&client, None, None).await?;
    assert!(ended.is_success(), "{ended:?}");
    let answer = index.search().with_query("crime punishmnt").with_filter("year < 1900").execute::<Book>().await?;
    println!("{} hits: {}", answer.hits.len(), answer.hits[0].result.title);
    Ok(())
}
